use std::collections::hash_map::DefaultHasher;
use std::io::{Read, Seek, SeekFrom, Write};

use proptest::prelude::*;

use super::*;

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hasher for which two short writes differ from one long write.
#[derive(Default)]
struct CountsWrites(u64);

impl Hasher for CountsWrites {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = self.0.wrapping_mul(31).wrapping_add(1 + bytes.len() as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// `bytes` in pieces that are too long to be stored inline, so that they stay apart.
fn fragmented(bytes: &[u8], at: usize) -> ZBytes {
    let shared: Arc<Vec<u8>> = Arc::new(bytes.to_vec());
    let pieces = [0..at, at..bytes.len()];
    pieces.into_iter().map(|range| ZBytes::from_owner(shared.clone(), range)).collect()
}

#[test]
fn the_type_is_small_and_has_no_hole() {
    assert_eq!(size_of::<ZBytes>(), 40);
    assert!(size_of::<Option<ZBytes>>() <= 40);
}

#[test]
fn everything_that_holds_bytes_converts() {
    let text = "a payload that is longer than what is stored inline";
    let all = [
        ZBytes::from(text),
        ZBytes::from(text.as_bytes()),
        ZBytes::from(String::from(text)),
        ZBytes::from(&String::from(text)),
        ZBytes::from(text.as_bytes().to_vec()),
        ZBytes::from(&text.as_bytes().to_vec()),
        ZBytes::from(text.as_bytes().to_vec().into_boxed_slice()),
        ZBytes::from(Arc::<[u8]>::from(text.as_bytes())),
        ZBytes::from(Cow::Borrowed(text)),
        ZBytes::from(Cow::<str>::Owned(text.into())),
        ZBytes::from(Cow::Borrowed(text.as_bytes())),
        ZBytes::from(Cow::<[u8]>::Owned(text.into())),
        ZBytes::from_static(text.as_bytes()),
        ZBytes::from(&ZBytes::from(text)),
    ];
    for bytes in all {
        assert_eq!(bytes, text);
        assert_eq!(bytes.try_to_str().unwrap(), text);
        assert_eq!(bytes.len(), text.len());
    }
    assert_eq!(ZBytes::from([1, 2]), [1, 2]);
    assert_eq!(ZBytes::from(b"ab"), b"ab");
    assert_eq!(ZBytes::new().slices().count(), 0);
    assert!(ZBytes::default().is_empty());
}

#[test]
fn large_owned_bytes_are_not_copied() {
    let vec = vec![7; 1000];
    let place = vec.as_ptr();
    let bytes = ZBytes::from(vec);
    assert_eq!(bytes.as_slice().unwrap().as_ptr(), place);
    assert_eq!(bytes.clone().as_slice().unwrap().as_ptr(), place);
    let shared: Arc<[u8]> = vec![1; 1000].into();
    assert_eq!(ZBytes::from(shared.clone()).as_slice().unwrap().as_ptr(), shared.as_ptr());
}

#[test]
fn a_range_of_an_owner_is_shared() {
    let owner = Arc::new(b"0123456789".to_vec());
    let bytes = ZBytes::from_owner(owner.clone(), 2..5);
    assert_eq!(bytes, "234");
    assert_eq!(bytes.as_slice().unwrap().as_ptr(), owner[2..].as_ptr());
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(bytes);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
#[should_panic(expected = "range end index 11 out of range")]
fn a_range_beyond_its_owner_panics_at_once() {
    let _ = ZBytes::from_owner(Arc::new(*b"0123456789"), 2..11);
}

#[test]
fn text_that_is_not_utf8_is_an_error_that_says_where() {
    let long = [b"x".repeat(60), vec![0xff]].concat();
    assert_eq!(ZBytes::from(long.clone()).try_to_str().unwrap_err().valid_up_to(), 60);
    assert_eq!(fragmented(&long, 50).try_to_str().unwrap_err().valid_up_to(), 60);
}

#[test]
fn the_writer_shares_large_pieces_and_joins_small_ones() {
    let large = ZBytes::from(vec![9; 100]);
    let mut writer = ZBytes::writer();
    writer.write_all(b"head").unwrap();
    writer.append("er ");
    writer.append(large.clone());
    writer.append(large.clone());
    writer.write_all(b"tail").unwrap();
    writer.flush().unwrap();
    let bytes = writer.finish();
    let slices: Vec<_> = bytes.slices().collect();
    assert_eq!(slices.iter().map(|slice| slice.len()).collect::<Vec<_>>(), [7, 100, 100, 4]);
    assert_eq!(slices[1].as_ptr(), large.as_slice().unwrap().as_ptr());
    assert_eq!(bytes.as_slice(), None);
    assert_eq!(bytes.len(), 211);

    // Appending fragmented bytes appends their parts.
    let again: ZBytes = [bytes.clone()].into_iter().collect();
    assert_eq!(again, bytes);
    assert_eq!(again.slices().count(), 4);
}

#[test]
fn a_writer_with_one_piece_gives_contiguous_bytes() {
    let mut written = ZBytes::writer();
    written.write_all(&[5; 100]).unwrap();
    assert_eq!(written.finish().as_slice().unwrap().len(), 100);
    let single: ZBytes = [ZBytes::from(vec![5; 100]), ZBytes::new()].into_iter().collect();
    assert_eq!(single.as_slice().unwrap().len(), 100);
    assert_eq!(ZBytes::writer().finish(), ZBytes::new());
}

#[test]
fn seeking_before_the_start_fails_and_past_the_end_reads_nothing() {
    let bytes = ZBytes::from("abc");
    let mut reader = bytes.reader();
    assert!(reader.seek(SeekFrom::Current(-1)).is_err());
    assert_eq!(reader.seek(SeekFrom::End(5)).unwrap(), 8);
    assert_eq!((reader.read(&mut [0; 4]).unwrap(), reader.remaining()), (0, 0));
    assert_eq!(reader.seek(SeekFrom::End(-1)).unwrap(), 2);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "c");
}

#[test]
fn debug_is_short() {
    let cases = [
        (ZBytes::from("hi\n"), r#"ZBytes(3 B, "hi\n")"#.to_owned()),
        (ZBytes::from([0, 255]), "ZBytes(2 B, 0x00ff)".to_owned()),
        (ZBytes::from("x".repeat(65)), format!(r#"ZBytes(65 B, "{}"…)"#, "x".repeat(64))),
        (ZBytes::from("é".repeat(33)), format!(r#"ZBytes(66 B, "{}"…)"#, "é".repeat(32))),
        (
            ZBytes::from(format!("x{}", "é".repeat(33))),
            format!(r#"ZBytes(67 B, "x{}"…)"#, "é".repeat(31)),
        ),
    ];
    for (bytes, shown) in cases {
        assert_eq!(format!("{bytes:?}"), shown);
    }
}

#[test]
fn much_of_a_buffer_is_shared_and_little_of_it_or_nothing_is_not() {
    let buffer = Arc::new(vec![7_u8; 1000]);
    let shared = ZBytes::within(&buffer, &buffer[100..900]).expect("most of it");
    assert_eq!(shared.as_slice().unwrap().as_ptr(), buffer[100..].as_ptr());
    assert_eq!((shared.len(), Arc::strong_count(&buffer)), (800, 2));
    assert_eq!(ZBytes::within(&buffer, &buffer[..100]), None, "it would pin ten times as much");
    assert_eq!(ZBytes::within(&buffer, &[7; 800]), None, "it is elsewhere");
    drop(shared);
    assert_eq!(Arc::strong_count(&buffer), 1);
}

proptest! {
    /// Storage and fragmentation are invisible to equality, hash, conversion and slices.
    #[test]
    fn fragments_equal_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
        let whole = ZBytes::from(bytes.as_slice());
        let split = fragmented(&bytes, at.min(bytes.len()));
        prop_assert_eq!(&whole, &split);
        prop_assert_eq!(&split, &bytes);
        prop_assert_eq!(hash(&whole), hash(&split));
        let [mut a, mut b] = [CountsWrites::default(), CountsWrites::default()];
        whole.hash(&mut a);
        split.hash(&mut b);
        prop_assert_eq!(a.finish(), b.finish());
        prop_assert_eq!(&*split.to_bytes(), bytes.as_slice());
        prop_assert!(split.slices().all(|slice| !slice.is_empty()));
        prop_assert_eq!(split.slices().map(<[u8]>::len).sum::<usize>(), split.len());
    }

    #[test]
    fn different_bytes_differ(a in prop::collection::vec(any::<u8>(), 0..100), b in prop::collection::vec(any::<u8>(), 0..100), at in 0usize..100) {
        let whole = ZBytes::from(a.as_slice());
        prop_assert_eq!(whole == fragmented(&b, at.min(b.len())), a == b);
    }

    /// The reader does what `std::io::Cursor` does.
    #[test]
    fn the_reader_equals_a_cursor(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in 0usize..200,
        moves in prop::collection::vec((0u8..4, -250i64..250), 0..20),
    ) {
        let bytes_under_test = fragmented(&bytes, at.min(bytes.len()));
        let mut reader = bytes_under_test.reader();
        let mut cursor = std::io::Cursor::new(bytes.as_slice());
        for (kind, amount) in moves {
            let to = match kind {
                0 => SeekFrom::Start(amount.unsigned_abs()),
                1 => SeekFrom::Current(amount),
                2 => SeekFrom::End(amount),
                _ => {
                    let mut expected = vec![0; amount.unsigned_abs() as usize];
                    let len = cursor.read(&mut expected).unwrap();
                    let mut read = Vec::new();
                    reader.by_ref().take(len as u64).read_to_end(&mut read).unwrap();
                    prop_assert_eq!(&read, &expected[..len]);
                    prop_assert_eq!(reader.remaining() as u64, (bytes.len() as u64).saturating_sub(cursor.position()));
                    continue;
                }
            };
            prop_assert_eq!(reader.seek(to).ok(), cursor.seek(to).ok());
        }
    }
}
