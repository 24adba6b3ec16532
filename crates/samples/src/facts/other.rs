//! What the sections of the facts share: keys that this version does not know, and sections left out.

/// Keys of a section that this version does not know: they survive being read and written.
pub type OtherFacts = serde_json::Map<String, serde_json::Value>;

/// Whether nobody filled in a section, so that it is left out of the JSON.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
