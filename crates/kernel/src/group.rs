//! Size groups: transfers of about the same size are counted together.

use std::str::FromStr;

use crate::Error;

/// Greatest number of groups.
pub const N_GROUPS: usize = 8;

/// The greatest sizes of all groups but the last, which has none. Unused groups have the limit `u64::MAX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLimits([u64; N_GROUPS - 1]);

impl Default for GroupLimits {
    fn default() -> Self {
        Self([64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 8 << 20])
    }
}

impl GroupLimits {
    /// Returns all limits, as many as the kernel's programs compare with.
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// Returns the sizes that the group holds: `<= 64`, `<= 512`, `> 8388608`; `None` for a group that is not in use.
    #[must_use]
    pub fn name(&self, group: usize) -> Option<String> {
        let n = self.0.iter().take_while(|limit| **limit != u64::MAX).count();
        match group {
            _ if group < n => Some(format!("<= {}", self.0[group])),
            _ if group == n && n == 0 => Some("all".into()),
            _ if group == n => Some(format!("> {}", self.0[n - 1])),
            _ => None,
        }
    }
}

impl FromStr for GroupLimits {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |wrong| Error::Groups { text: text.into(), wrong };
        let mut limits = [u64::MAX; N_GROUPS - 1];
        let mut last = None;
        for (i, size) in text.split(',').enumerate() {
            let size = size.trim().parse().map_err(|_| wrong("each must be a number of bytes"))?;
            if last.is_some_and(|last| size <= last) {
                return Err(wrong("the sizes are out of order"));
            }
            *limits.get_mut(i).ok_or_else(|| wrong("there are too many"))? = size;
            last = Some(size);
        }
        Ok(Self(limits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_named_after_their_limits() {
        let limits: GroupLimits = "100,2000".parse().unwrap();
        let names: Vec<_> = (0..N_GROUPS).filter_map(|group| limits.name(group)).collect();
        assert_eq!(names, ["<= 100", "<= 2000", "> 2000"]);
    }

    #[test]
    fn groups_out_of_order_are_refused_by_name() {
        let error = "4096,64".parse::<GroupLimits>().unwrap_err().to_string();
        assert!(error.contains("`4096,64`") && error.contains("out of order"), "{error}");
    }
}
