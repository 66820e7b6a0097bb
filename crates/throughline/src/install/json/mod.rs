//! JSON configuration, changed in place: comments, order, indentation and line ends stay.

pub mod edit;
pub mod scan;
