//! What other threads see of a job, and how they stop it.

/// The methods that jobs with an interface and those with a file have in common. The job has fields `stop` and `live`.
macro_rules! controls {
    ($job:ty) => {
        impl $job {
            /// Uses a stop of the caller instead of that of [`stopper`](Self::stopper).
            pub fn stop_with(mut self, stop: $crate::stop::Stop) -> Self {
                self.stop = stop;
                self
            }

            /// Stops the job from another thread or a signal handler.
            pub fn stopper(&self) -> $crate::stop::Stopper {
                self.stop.stopper()
            }

            /// Counters for other threads.
            pub fn live(&self) -> $crate::send::LiveSent {
                self.live.clone()
            }
        }
    };
}
