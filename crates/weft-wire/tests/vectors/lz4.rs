//! Just enough of the LZ4 block format to read two captured batches; compression is not part of this crate.

/// The content of a block that is known to be well-formed.
pub(crate) fn decompress(mut block: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(token) = next(&mut block) {
        let literals = length(token >> 4, &mut block);
        out.extend(block[..literals].iter());
        block = &block[literals..];
        let Some(low) = next(&mut block) else {
            break;
        };
        let offset = usize::from(low) | usize::from(next(&mut block).unwrap()) << 8;
        let matched = length(token & 0x0f, &mut block) + 4;
        (0..matched).for_each(|_| out.push(out[out.len() - offset]));
    }
    out
}

fn next(block: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = block.split_first()?;
    *block = rest;
    Some(first)
}

fn length(nibble: u8, block: &mut &[u8]) -> usize {
    let mut length = usize::from(nibble);
    if nibble == 15 {
        loop {
            let byte = next(block).unwrap();
            length += usize::from(byte);
            if byte < 255 {
                break;
            }
        }
    }
    length
}
