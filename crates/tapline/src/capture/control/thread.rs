//! The control thread, which carries out changes of a capture of fixed interfaces.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abi::signal::with_signals_blocked;

use super::super::plan::options::CaptureOptions;
use super::controller::{Controller, FREE};
use super::member::Member;
use super::messages::{Message, MessageSender};
use super::new_interface::InterfaceOpener;

/// The control thread. It stays in the network namespace of the interfaces, wherever reader and caller are,
/// and the reader does not wait for the kernel.
pub struct ControlThread {
    messages: MessageSender,
    thread: Option<JoinHandle<()>>,
}

impl ControlThread {
    /// Starts the thread. If that fails, every change is refused. `capture` has the buffer of whole interfaces.
    pub fn begin(
        members: Vec<Member>,
        capture: CaptureOptions,
        opener: Box<dyn InterfaceOpener>,
    ) -> Self {
        let (messages, received) = MessageSender::channel();
        let namespace = capture.namespace.clone();
        let controller = Controller::new(members, capture, opener);
        let thread = thread::Builder::new().name("tapline-control".into());
        let run = move || match namespace {
            // If it cannot be entered, the messages are dropped unanswered.
            Some(namespace) => drop(namespace.run(move || serve(controller, &received))),
            None => serve(controller, &received),
        };
        Self {
            messages,
            thread: with_signals_blocked(|| thread.spawn(run)).ok(),
        }
    }

    pub fn messages(&self) -> MessageSender {
        self.messages.clone()
    }
}

/// Ends the thread. A change that is being carried out is complete when this returns.
impl Drop for ControlThread {
    fn drop(&mut self) {
        // A thread that does not receive has ended.
        let _ = self.messages.send(Message::Over);
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

/// Carries out changes until the capture is over.
fn serve(mut controller: Controller, messages: &Receiver<Message>) {
    let mut is_free = true;
    loop {
        let time = if is_free { Duration::MAX } else { FREE };
        match messages.recv_timeout(time) {
            Ok(Message::Change(change, answer)) => {
                // The caller may have gone.
                let _ = answer.send(controller.carry_out(&change));
            }
            Ok(Message::Settings(answer)) => {
                let _ = answer.send(controller.settings());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Message::Over) | Err(RecvTimeoutError::Disconnected) => return,
        }
        is_free = controller.free_dropped();
    }
}
