//! The nodes of a tree and the links between them.

use super::KeTree;
use super::table::Table;
use crate::KeyExpr;
use crate::chunk::ChunkKind;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The place of a node in the tree's array.
pub(super) type NodeId = u32;

/// The node of the empty list of chunks. It is nobody's child, so it also stands for "no such
/// child".
pub(super) const ROOT: NodeId = 0;

#[cfg(test)]
std::thread_local! {
    /// How often this thread has looked at the chunk of a node.
    pub(super) static LOOKS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

#[derive(Clone)]
pub(super) struct Node<V> {
    chunk: ChunkText,
    pub(super) parent: NodeId,
    children: Option<Box<Children>>,
    pub(super) entry: Option<(KeyExpr, V)>,
}

/// The children of a node, by what their chunks denote.
#[derive(Clone, Default)]
pub(super) struct Children {
    pub(super) star: NodeId,
    pub(super) double_star: NodeId,
    pub(super) patterns: Vec<NodeId>,
    /// Literal and verbatim chunks.
    pub(super) texts: Table,
}

impl<V> Node<V> {
    pub(super) fn new(chunk: &str, parent: NodeId) -> Self {
        Self { chunk: ChunkText::new(chunk), parent, children: None, entry: None }
    }

    pub(super) fn chunk(&self) -> &str {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        self.chunk.as_str()
    }

    /// Whether its chunk is this one: without the look for UTF-8 that its text costs.
    fn has_chunk(&self, chunk: &str) -> bool {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
        self.chunk.as_bytes() == chunk.as_bytes()
    }

    pub(super) fn children(&self) -> Option<&Children> {
        self.children.as_deref()
    }

    pub(super) fn leads_nowhere(&self) -> bool {
        self.entry.is_none() && self.children.is_none()
    }
}

impl<V> KeTree<V> {
    /// The child of `node` with exactly this chunk.
    pub(super) fn child(&self, node: NodeId, chunk: &str) -> Option<NodeId> {
        let children = self.nodes[node as usize].children()?;
        match ChunkKind::of(chunk) {
            ChunkKind::Star => some_child(children.star),
            ChunkKind::DoubleStar => some_child(children.double_star),
            ChunkKind::Pattern => {
                children.patterns.iter().copied().find(|&id| self.has_chunk(id, chunk))
            }
            ChunkKind::Literal | ChunkKind::Verbatim => {
                self.text_child(node, chunk, self.hasher.hash(chunk.as_bytes()))
            }
        }
    }

    /// The child of `node` with exactly this literal or verbatim chunk, whose hash is `hash`.
    pub(super) fn text_child(&self, node: NodeId, chunk: &str, hash: u32) -> Option<NodeId> {
        self.nodes[node as usize].children()?.texts.find(hash, |id| self.has_chunk(id, chunk))
    }

    /// Adds a child that is not there yet.
    pub(super) fn add_child(&mut self, parent: NodeId, chunk: &str) -> NodeId {
        let id = self.place(Node::new(chunk, parent));
        let hash = self.hasher.hash(chunk.as_bytes());
        let children = self.nodes[parent as usize].children.get_or_insert_default();
        match ChunkKind::of(chunk) {
            ChunkKind::Star => children.star = id,
            ChunkKind::DoubleStar => children.double_star = id,
            ChunkKind::Pattern => children.patterns.push(id),
            ChunkKind::Literal | ChunkKind::Verbatim => children.texts.insert(hash, id),
        }
        id
    }

    /// Unlinks `id` from `parent`.
    pub(super) fn remove_child(&mut self, parent: NodeId, id: NodeId) {
        let chunk = self.nodes[id as usize].chunk();
        let (hash, kind) = (self.hasher.hash(chunk.as_bytes()), ChunkKind::of(chunk));
        let slot = &mut self.nodes[parent as usize].children;
        let children = slot.as_mut().expect("a parent has children");
        match kind {
            ChunkKind::Star => children.star = ROOT,
            ChunkKind::DoubleStar => children.double_star = ROOT,
            ChunkKind::Pattern => children.patterns.retain(|&pattern| pattern != id),
            ChunkKind::Literal | ChunkKind::Verbatim => children.texts.remove(hash, id),
        }
        if children.is_empty() {
            *slot = None;
        }
    }

    fn has_chunk(&self, id: NodeId, chunk: &str) -> bool {
        self.nodes[id as usize].has_chunk(chunk)
    }

    fn place(&mut self, node: Node<V>) -> NodeId {
        if let Some(id) = self.free.pop() {
            self.nodes[id as usize] = node;
            return id;
        }
        let id = NodeId::try_from(self.nodes.len()).expect("a tree has fewer than 2^32 nodes");
        self.nodes.push(node);
        id
    }
}

impl Children {
    fn is_empty(&self) -> bool {
        self.count() == 0
    }

    pub(super) fn is_single(&self) -> bool {
        self.count() == 1
    }

    fn count(&self) -> usize {
        let wildcards = [self.star, self.double_star].into_iter().filter(|&id| id != ROOT);
        wildcards.count() + self.patterns.len() + self.texts.count()
    }
}

/// `None` for the root, which marks a missing child.
pub(super) fn some_child(id: NodeId) -> Option<NodeId> {
    (id != ROOT).then_some(id)
}

/// The text of a chunk, in the node itself if it is short: most are, and a node then is one
/// allocation less.
#[derive(Clone)]
enum ChunkText {
    Inline { len: u8, bytes: [u8; CHUNK_INLINE_LEN_MAX] },
    Boxed(Box<str>),
}

/// Fills the node to what `Box<str>` and its discriminant take anyway, rounded up to a word.
const CHUNK_INLINE_LEN_MAX: usize = 22;

impl ChunkText {
    fn new(chunk: &str) -> Self {
        let mut bytes = [0; CHUNK_INLINE_LEN_MAX];
        match bytes.get_mut(..chunk.len()) {
            Some(prefix) => {
                prefix.copy_from_slice(chunk.as_bytes());
                Self::Inline { len: chunk.len() as u8, bytes }
            }
            None => Self::Boxed(chunk.into()),
        }
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Inline { len, bytes } => &bytes[..*len as usize],
            Self::Boxed(text) => text.as_bytes(),
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Inline { .. } => {
                core::str::from_utf8(self.as_bytes()).expect("the bytes come from a whole `str`")
            }
            Self::Boxed(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_fits_a_cache_line() {
        assert!(size_of::<Node<u64>>() <= 64);
    }

    #[test]
    fn chunk_text_of_any_length() {
        for text in ["", "a", "é", "exactly-22-bytes-long-", "longer than twenty-two bytes"] {
            assert_eq!(ChunkText::new(text).as_str(), text);
        }
    }
}
