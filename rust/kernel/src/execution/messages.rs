//! Execution of message programs by ranks: each message is a flow on the platform, O(its route).
use super::error::ExecutionError;
use super::log::MessageTime;
use super::rank::Blocked;
use super::run::Run;
use super::world::{Purpose, World};
use crate::application::{Effect, Message, Operation};

impl Run {
    /// Runs a rank through a message program until it has to wait or has finished; returns whether it waits.
    pub fn pass_messages(&mut self, world: &mut World, rank: u32, part: u32) -> Result<bool, ExecutionError> {
        let waits = loop {
            let passing = &mut self.program.messages[part as usize];
            let Some(operation) = passing.take(rank) else { return Ok(false) };
            let effect = passing.states.perform(operation, passing.program.messages());
            if !passing.times.is_empty() {
                passing.note(world.now.rounded(), operation, effect);
            }
            match (effect, operation) {
                (Effect::Wait, _) => {
                    self.ranks.all[rank as usize].blocked = Blocked::Otherwise;
                    break true;
                }
                (Effect::Transfer(message), _) => self.set_out(world, part, message)?,
                (Effect::None, Operation::Compute(flops)) if flops > 0.0 => {
                    self.compute_flops(world, rank, flops);
                    break self.ranks.await_level(rank, 0);
                }
                (Effect::None, Operation::Take(seconds)) if seconds > 0.0 => {
                    break self.sleep(world, rank, world.now.after(seconds));
                }
                (Effect::None, _) => {}
            }
        };
        // The rank executes this step again.
        self.ranks.all[rank as usize].next -= 1;
        Ok(waits)
    }

    /// Starts the transfer of a message.
    fn set_out(&mut self, world: &mut World, part: u32, message: u32) -> Result<(), ExecutionError> {
        let passing = &mut self.program.messages[part as usize];
        let Message { from, to, bytes, .. } = passing.program.messages()[message as usize];
        let hosts = (self.hosts[from as usize], self.hosts[to as usize]);
        if let Some(counts) = &mut world.counts {
            let classes = passing.program.classes();
            counts.find_places(self.job, classes, &mut passing.counted);
            let place = passing.counted[classes.of[message as usize] as usize];
            counts.count(&world.platform, place, bytes - classes.envelope, hosts);
        }
        let mut builder = std::mem::take(&mut world.builder);
        let made = builder.flow(&world.platform, &world.network, hosts, bytes);
        if made.is_ok() {
            let purpose = Purpose::Message { part, message };
            world.start(self.slot, &mut self.pending, purpose, &builder.demand());
        }
        world.builder = builder;
        made.map_err(|route| ExecutionError::no_route(&world.platform, route))
    }

    /// Ends the transfer of a message: the ranks that wait for it continue.
    pub fn arrived(&mut self, world: &mut World, part: u32, message: u32) {
        let passing = &mut self.program.messages[part as usize];
        let Message { from, to, .. } = passing.program.messages()[message as usize];
        let (sender, receiver) = passing.states.arrive(message);
        if let (Some(&(posted, begun)), Some(log)) = (passing.times.get(message as usize), &mut world.log) {
            let end = world.now.rounded();
            log.push_message(MessageTime { job: self.job, part, message, posted, begun, end });
        }
        if sender {
            world.ready.push(self.slot, from, 1);
        }
        if receiver {
            world.ready.push(self.slot, to, 1);
        }
    }
}
