//! Accounts of a target by address.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::statistics::ProbeCounts;

/// Maximum closed accounts of a target. The oldest ones are added up.
const MAX_ACCOUNTS: usize = 16;

/// The probes of a target while it had one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddressAccount {
    /// The address; `None` for the sum of the oldest accounts, if a target has had more than 16.
    pub address: Option<IpAddr>,
    /// Its counters: `sent = received + late + errors + lost + pending`.
    pub counts: ProbeCounts,
}

/// What is remembered of a target that changed.
#[derive(Clone, Debug, Default)]
struct TargetHistory {
    /// The first round of the current address. Answers to earlier probes are too late to be classified.
    since_round: u32,
    closed: Vec<AddressAccount>,
    /// Sum of the closed accounts.
    sum: ProbeCounts,
}

/// The accounts of targets that changed. Empty for most runs.
#[derive(Debug, Default)]
pub(crate) struct AddressAccounts {
    targets: HashMap<u32, TargetHistory>,
}

impl AddressAccounts {
    /// Closes the account of `address`. `total` is what was counted for the target so far, and `round` its next round.
    /// Returns what was counted for the address.
    pub fn close(
        &mut self,
        target: u32,
        address: Option<IpAddr>,
        total: ProbeCounts,
        round: u32,
    ) -> ProbeCounts {
        let history = self.targets.entry(target).or_default();
        let counts = total.since(&history.sum);
        history.since_round = round;
        history.sum = total;
        if address.is_none() {
            return counts;
        }
        match history
            .closed
            .iter_mut()
            .find(|known| known.address == address)
        {
            Some(known) => known.counts = known.counts.plus(&counts),
            None => history.closed.push(AddressAccount { address, counts }),
        }
        if history.closed.len() > MAX_ACCOUNTS {
            let second = history.closed.remove(1);
            let first = &mut history.closed[0];
            first.address = None;
            first.counts = first.counts.plus(&second.counts);
        }
        counts
    }

    /// Forgets a target that another one replaces in `round`.
    pub fn reset(&mut self, target: u32, round: u32) {
        let history = TargetHistory {
            since_round: round,
            ..TargetHistory::default()
        };
        self.targets.insert(target, history);
    }

    /// Whether the probe of `round` to `target` was sent to an earlier address.
    #[inline]
    pub fn is_closed(&self, target: u32, round: u32) -> bool {
        if self.targets.is_empty() {
            return false;
        }
        let history = self.targets.get(&target);
        history.is_some_and(|history| round < history.since_round)
    }

    /// The accounts of `target` by address, the current one last. `total` is what was counted for it so far.
    pub fn of(
        &self,
        target: u32,
        address: Option<IpAddr>,
        total: ProbeCounts,
    ) -> Vec<AddressAccount> {
        let Some(history) = self.targets.get(&target) else {
            let current = address.map(|_| AddressAccount {
                address,
                counts: total,
            });
            return current.into_iter().collect();
        };
        let mut accounts = history.closed.clone();
        let Some(address) = address else {
            return accounts;
        };
        let mut counts = total.since(&history.sum);
        // It may have had this address before.
        let known = accounts
            .iter()
            .position(|known| known.address == Some(address));
        if let Some(at) = known {
            counts = counts.plus(&accounts.remove(at).counts);
        }
        accounts.push(AddressAccount {
            address: Some(address),
            counts,
        });
        accounts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(sent: u64) -> ProbeCounts {
        ProbeCounts {
            sent,
            ..ProbeCounts::default()
        }
    }

    #[test]
    fn accounts_add_up_however_often_the_address_changes() {
        let mut accounts = AddressAccounts::default();
        let address = |number: u8| Some(IpAddr::from([10, 0, 0, number]));
        for change in 0..100_u8 {
            let counts = accounts.close(
                7,
                address(change % 40),
                sent(10 * u64::from(change) + 10),
                3,
            );
            assert_eq!(counts, sent(10));
        }
        let all = accounts.of(7, address(30), sent(1003));
        assert_eq!(all.len(), MAX_ACCOUNTS + 1);
        assert_eq!(
            all.iter().map(|account| account.counts.sent).sum::<u64>(),
            1003
        );
        assert_eq!((all[0].address, all[16].address), (None, address(30)));
        assert!(accounts.is_closed(7, 2) && !accounts.is_closed(7, 3) && !accounts.is_closed(8, 0));
    }

    #[test]
    fn an_address_that_returns_continues_its_account() {
        let mut accounts = AddressAccounts::default();
        let [one, other] = [1, 2].map(|number| IpAddr::from([10, 0, 0, number]));
        accounts.close(0, Some(one), sent(3), 3);
        accounts.close(0, Some(other), sent(5), 5);
        let all = accounts.of(0, Some(one), sent(9));
        let all: Vec<_> = all
            .iter()
            .map(|account| (account.address, account.counts.sent))
            .collect();
        assert_eq!(all, [(Some(other), 2), (Some(one), 7)]);
        assert_eq!(accounts.of(0, None, sent(5)).len(), 2);
        assert_eq!(accounts.of(1, Some(one), sent(4)).len(), 1);
    }
}
