//! Where jobs come from, and where they go.
use crate::policy::Site;
use crate::time::Time;

/// Where jobs come from and where they go when they are done.
pub trait Feed {
    /// What can go wrong in reading or writing.
    type Error;

    /// When the next job is submitted; [`Time::NEVER`] after the last.
    fn next_time(&self) -> Time;

    /// Hands over the next job, which is due: its slot in the site's table.
    fn submit(&mut self, site: &mut Site) -> Result<u32, Self::Error>;

    /// No further job shall come.
    fn close(&mut self) {}

    /// Takes note of a job that entered the queue.
    fn enqueued(&mut self, _site: &Site, _job: u32) {}

    /// Takes note of a job that started.
    fn started(&mut self, _site: &Site, _job: u32) {}

    /// Takes note that nothing happens from now until `next`.
    fn instant_over(&mut self, _site: &Site, _next: Time) {}

    /// Takes note of a job that ended or was rejected.
    fn finished(&mut self, site: &mut Site, job: u32) -> Result<(), Self::Error>;
}
