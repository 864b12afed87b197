//! Where the figures come from.

use std::fs;

use jiff::Timestamp;

#[derive(Debug)]
pub struct Machine {
    pub processor: String,
    pub processors: usize,
    pub is_virtual: bool,
    pub kernel: String,
    /// Day and minute, UTC.
    pub time: String,
}

impl Machine {
    pub fn find() -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let field = |name: &str| {
            let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            lines.find_map(|(key, value)| (key.trim() == name).then(|| value.trim().to_owned()))
        };
        let flags = field("flags").unwrap_or_default();
        Self {
            processor: field("model name").unwrap_or_else(|| std::env::consts::ARCH.into()),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            is_virtual: flags.split(' ').any(|flag| flag == "hypervisor"),
            kernel: read("/proc/sys/kernel/osrelease").trim().into(),
            time: Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        }
    }

    /// One line about it.
    pub fn line(&self) -> String {
        let kind = if self.is_virtual {
            ", virtual machine"
        } else {
            ""
        };
        format!(
            "{}, {} processors{kind}; Linux {}; {}",
            self.processor, self.processors, self.kernel, self.time
        )
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
