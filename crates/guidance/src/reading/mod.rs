//! Tools that show a book to an agent: lists, search, views and the files of packages.

pub(crate) mod beginning;
pub(crate) mod event;
pub(crate) mod fence;
pub(crate) mod figures;
pub(crate) mod front_program;
pub(crate) mod function_question;
pub(crate) mod other_version;
pub(crate) mod package_file;
pub(crate) mod short_reader;
pub(crate) mod tools;
pub(crate) mod value_remarks;
