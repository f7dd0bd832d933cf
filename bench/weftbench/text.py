"""Figures as people read them."""

STEPS = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def size(count: int) -> str:
    """A payload size; nothing for a case without payload."""
    for step, unit in STEPS:
        if count >= step and count % step == 0:
            return f"{count // step} {unit}"
    return ""


def figure(value: float | None, unit: str) -> str:
    """A figure with its unit, in three digits."""
    if value is None:
        return ""
    if unit.endswith("/s") and unit != "GB/s":
        for step, prefix in ((1e6, "M"), (1e3, "k")):
            if value >= step:
                return f"{digits(value / step)} {prefix} {unit}"
    if unit == "us" and value >= 1e4:
        return f"{digits(value / 1e3)} ms"
    return f"{digits(value)} {'µs' if unit == 'us' else unit}"


def digits(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value: float | None, is_noisy: bool) -> str:
    """A ratio; `~` marks one that says little."""
    return "" if value is None else f"{value:.2f}{' ~' if is_noisy else ''}"
