//! Helps sections of the facts to keep unknown keys and to leave out empty sections.

/// Keys of a section that this version does not know. They survive reading and writing.
pub type OtherFacts = serde_json::Map<String, serde_json::Value>;

/// Whether a section is empty, so that it is left out of the JSON.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
