//! Columns of recorded tables, in the form in which they leave the kernel.

/// One column of a table. The names of the variants are the types of the values.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Truth values.
    Bool(Vec<bool>),
    /// Small numbers of kinds.
    U8(Vec<u8>),
    /// Numbers of kinds.
    U16(Vec<u16>),
    /// Rows, nodes and other places.
    U32(Vec<u32>),
    /// Counts.
    U64(Vec<u64>),
    /// Places, or -1 for none.
    I64(Vec<i64>),
    /// Seconds and other amounts.
    F64(Vec<f64>),
    /// So many rows of amounts, one after the other.
    Matrix(Vec<f64>, usize),
}

/// The columns of a table, by name.
pub type Columns = Vec<(&'static str, Column)>;

/// A log of a run that becomes a table.
pub trait Log: std::fmt::Debug + Send + Sync {
    /// Prepares a clone that shares the entries.
    fn share(&mut self);

    /// Returns the entries so far.
    fn columns(&self) -> Columns;
}

macro_rules! columns_from {
    ($($variant:ident($value:ty)),+) => {
        $(impl From<Vec<$value>> for Column {
            fn from(values: Vec<$value>) -> Self {
                Self::$variant(values)
            }
        })+
    };
}
columns_from!(Bool(bool), U8(u8), U16(u16), U32(u32), U64(u64), I64(i64), F64(f64));

/// Implements [`Log`] for a log that is handed out as it is: its shared columns, under their own names.
macro_rules! log_of_columns {
    ($log:ty { $($column:ident),+ }) => {
        impl $crate::record::Log for $log {
            fn share(&mut self) {
                $(self.$column.share();)+
            }

            fn columns(&self) -> $crate::record::Columns {
                vec![$((stringify!($column), self.$column.to_vec().into())),+]
            }
        }
    };
}
pub(crate) use log_of_columns;
