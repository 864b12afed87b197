//! From the rings to the consumer: queues, merging, the exact filter, and when the reader sleeps and wakes.

pub mod adaptive;
mod annotations;
pub mod consumer;
pub mod dispatcher;
pub mod exact_filter;
pub mod file_control;
pub mod forecast;
pub mod poller;
pub mod queue;
pub mod ring;
pub mod wake_policy;
