//! Drivers: what they report, and their settings.

mod ethtool;
mod ethtool_set;
mod features;
