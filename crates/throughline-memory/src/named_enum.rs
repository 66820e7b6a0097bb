//! Enums whose variants have names.

/// Declares an enum together with the name of each variant. `ALL` lists the variants in their
/// order, `name` returns the name of a variant, `from_name` finds the variant of a name, and
/// `Display` writes the name.
///
/// ```
/// throughline_memory::named_enum! {
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     enum Direction {
///         Up = "up",
///         Down = "down",
///     }
/// }
/// assert_eq!(Direction::from_name("up"), Some(Direction::Up));
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $type:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        $vis enum $type { $($(#[$variant_attribute])* $variant,)+ }

        #[allow(dead_code, reason = "an enum that is not public may not need all three")]
        impl $type {
            $vis const ALL: &'static [Self] = &[$(Self::$variant,)+];

            $vis const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            $vis fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.name() == name)
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
