//! A thread that takes most of a CPU.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;
use tapline_lab::generator::pin_to_cpu;

/// With this niceness the scheduler gives it nine times as much as a thread of niceness 0.
const NICENESS: i32 = -10;

/// The thread. It ends when this is dropped.
pub struct Competitor {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Competitor {
    /// Keeps `cpu` busy.
    ///
    /// # Panics
    /// Without the privilege to raise its priority.
    pub fn start(cpu: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            pin_to_cpu(cpu).expect("the CPU");
            // The kernel keeps a niceness for each thread, under its number.
            let own = Some(gettid());
            setpriority_process(own, NICENESS).expect("a higher priority");
            assert_eq!(getpriority_process(own).expect("its priority"), NICENESS);
            while !flag.load(Ordering::Relaxed) {
                hint::spin_loop();
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Competitor {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
