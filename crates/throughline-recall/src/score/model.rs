//! Linear models: each feature's name, value and fitted weight, declared in one place.

/// Declares a linear model as a struct with one `f64` field per feature.
///
/// A line `name = value => weight;` is the whole of a feature. The value may use the locals of
/// `compute` and every feature above it, so a product reads `a_x_b = a * b => weight;`. A name that
/// does not exist does not compile. `tools/ranking/fit.py` reads the names from `--stdio`'s answer
/// to `hello` and writes new weights into these lines, matching them by name.
macro_rules! linear_model {
    (
        $(#[$doc:meta])*
        pub struct $model:ident;
        fn compute($($argument:ident: $type:ty),* $(,)?) { $($setup:tt)* }
        $($(#[$note:meta])* $feature:ident = $value:expr => $weight:expr;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $model {
            $($(#[$note])* pub $feature: f64,)*
        }

        impl $model {
            /// The names of the features, in the order of [`Self::values`].
            pub const NAMES: &[&str] = &[$(stringify!($feature)),*];
            const WEIGHTS: [f64; Self::NAMES.len()] = [$($weight),*];

            pub(crate) fn compute($($argument: $type),*) -> Self {
                $($setup)*
                $(let $feature: f64 = $value;)*
                Self { $($feature),* }
            }

            /// Returns the values of the features, in the order of [`Self::NAMES`].
            pub fn values(&self) -> [f64; Self::NAMES.len()] {
                [$(self.$feature),*]
            }

            /// Returns the sum of the values, each times its weight.
            pub(crate) fn weighted_sum(&self) -> f64 {
                let weighted = self.values().into_iter().zip(Self::WEIGHTS);
                weighted.map(|(value, weight)| value * weight).sum()
            }
        }
    };
}

pub(crate) use linear_model;
