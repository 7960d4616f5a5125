//! Record of the usage of accounts and users at each calculation of priorities.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::column::{Column, Columns, Log};

/// The usage and the fair-share factor of each node of the tree, calculation by calculation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UsageLog {
    /// Time of the calculation, seconds.
    pub time: SharedColumn<f64>,
    /// The usage of all nodes, one calculation after the other.
    pub usage: SharedColumn<f64>,
    /// The fair-share factors of all nodes, one calculation after the other.
    pub factor: SharedColumn<f64>,
}

impl Log for UsageLog {
    fn share(&mut self) {
        self.time.share();
        self.usage.share();
        self.factor.share();
    }

    fn columns(&self) -> Columns {
        let rows = self.time.len();
        vec![
            ("time", self.time.to_vec().into()),
            ("usage", Column::Matrix(self.usage.to_vec(), rows)),
            ("factor", Column::Matrix(self.factor.to_vec(), rows)),
        ]
    }
}

impl UsageLog {
    /// Records a calculation.
    pub fn add(&mut self, time: f64, usage: &[f64], factors: &[f64]) {
        self.time.push(time);
        self.usage.extend(usage.iter().copied());
        self.factor.extend(factors.iter().copied());
    }
}
