//! Columns of a query, declared once and read by name.

/// Declares a module with the columns of a query: `SQL` lists their expressions for a `SELECT`, and
/// a constant per column is its position in the row. The list and the positions cannot drift apart,
/// and reading by name costs nothing at run time.
macro_rules! columns {
    ($(#[$doc:meta])* $vis:vis mod $module:ident { $($column:ident: $sql:literal,)+ }) => {
        $(#[$doc])*
        #[allow(
            dead_code,
            non_camel_case_types,
            non_upper_case_globals,
            reason = "a column keeps its name in SQL; some are only read as part of a text"
        )]
        $vis mod $module {
            enum Position { $($column,)+ }
            $(pub(crate) const $column: usize = Position::$column as usize;)+
            pub(crate) const SQL: &str = $crate::columns::columns!(@join $($sql,)+);
        }
    };
    (@join $first:literal, $($rest:literal,)*) => { concat!($first $(, ", ", $rest)*) };
}

pub(crate) use columns;
