//! JSON configuration, changed in place: comments, order, indentation and line ends stay.

pub(crate) mod edit;
pub(crate) mod scan;
