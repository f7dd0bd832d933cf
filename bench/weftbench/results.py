"""What was measured: the raw file, and the figures of a case with their medians, ratios and spreads."""

import dataclasses
import json
import statistics
from pathlib import Path

from weftbench.cases import Case, Metric
from weftbench.peers import OTHERS, PEERS

MAIN = ("weft", "reference", "limit")

# Above this, a figure differs so much from round to round that its median says little.
NOISY_SPREAD = 0.25


class Raw:
    """Every measurement, a line each, so that an interrupted run can go on. `settings` must be the same then."""

    def __init__(self, path: Path, settings: dict, resume: bool):
        self._path = path
        self._values: dict[tuple, dict] = {}
        if resume and path.exists():
            head, *lines = map(json.loads, path.read_text().splitlines())
            if head != settings:
                raise ValueError(f"{path} was measured with {head}, not {settings}")
            for line in lines:
                self._values[self._key(**line)] = line
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings) + "\n")

    @staticmethod
    def _key(case: str, size: int, peer: str, round: int, **_) -> tuple:
        return case, size, peer, round

    def find(self, case: Case, peer: str, round: int) -> dict | None:
        """The line of a measurement, with `values` or an `error`, if it was made."""
        return self._values.get((case.name, case.size, peer, round))

    def add(self, case: Case, peer: str, round: int, **outcome):
        line = {"case": case.name, "size": case.size, "peer": peer, "round": round, **outcome}
        self._values[self._key(**line)] = line
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


@dataclasses.dataclass(frozen=True)
class Result:
    """One metric of one case: for each peer a figure a round; none for who has not run."""

    case: Case
    metric: Metric
    rounds: dict[str, list[float]]
    errors: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.case.name + self.metric.suffix

    def median(self, who: str) -> float | None:
        return statistics.median(self.rounds[who]) if self.rounds.get(who) else None

    def ratios(self, other: str) -> list[float]:
        """Within a round, for what else the machine does changes slower than that."""
        pairs = zip(self.rounds.get("weft", []), self.rounds.get(other, []), strict=False)
        return [weft / figure for weft, figure in pairs if figure]

    def ratio(self, other: str) -> float | None:
        ratios = self.ratios(other)
        return statistics.median(ratios) if ratios else None

    def spread(self, who: str) -> float | None:
        return spread(self.rounds.get(who, []))

    def ratio_spread(self, other: str) -> float | None:
        return spread(self.ratios(other))

    def is_noisy(self, other: str) -> bool:
        """Whether the ratio to `other` is to be marked: measured once it has no spread, and says little as well."""
        found = self.ratio_spread(other)
        return found is None or found > NOISY_SPREAD

    def rivals(self) -> list[str]:
        """The other programs, not the limits, that have a figure."""
        return [key for key, figures in self.rounds.items() if figures and key != "weft" and PEERS[key].abilities]

    def best(self) -> str | None:
        """The best of the other programs."""
        pick = max if self.metric.more_is_better else min
        return pick(self.rivals(), key=self.median, default=None)

    def line(self) -> dict:
        """The object that `--json` prints: its keys are a contract."""
        ratios = [key for key in self.rounds if key != "weft" and self.ratios(key)]
        return {
            "case": self.name,
            "size": self.case.size,
            **{who: rounded(self.median(who)) for who in MAIN},
            "unit": self.metric.unit,
            "vs_reference": rounded(self.ratio("reference")),
            "vs_limit": rounded(self.ratio("limit")),
            "spread": {who: rounded(self.spread(who)) for who in self.rounds if self.rounds[who]}
            | {f"vs_{other}": rounded(self.ratio_spread(other)) for other in ratios}
            | {"noisy": [f"vs_{other}" for other in ratios if self.is_noisy(other)]},
            **{peer.key: rounded(self.median(peer.key)) for peer in OTHERS if self.rounds.get(peer.key)},
        }

    def full(self) -> dict:
        """What the report keeps of it."""
        best = self.best()
        return self.line() | {
            "metric": self.metric.key,
            "group": self.case.group,
            "about": self.case.about,
            "more_is_better": self.metric.more_is_better,
            "best": best,
            "vs_best": rounded(self.ratio(best)) if best else None,
            "errors": self.errors,
            "rounds": {who: [rounded(value) for value in values] for who, values in self.rounds.items() if values},
        }


def spread(values: list[float]) -> float | None:
    """(max - min) / median; none for a single value."""
    if len(values) < 2 or not statistics.median(values):
        return None
    return (max(values) - min(values)) / statistics.median(values)


def rounded(value: float | None) -> float | None:
    """To four digits, at the least the thousandth."""
    if value is None:
        return None
    return float(f"{value:.4g}") if abs(value) < 1000 else round(value)
