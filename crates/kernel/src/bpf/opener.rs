//! Opens arms of programs in the kernel, and measures each subsystem's price once.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Bpf, calibrate};
use crate::{Arm, Error, GroupLimits, Node, Opener, Price, Subsystem};

/// Nodes that are measured by programs in the kernel.
#[derive(Default)]
pub struct BpfOpener {
    nodes: BTreeMap<String, (GroupLimits, Rc<Bpf>)>,
    prices: BTreeMap<&'static str, Price>,
}

impl BpfOpener {
    fn node(&mut self, node: &Node, groups: &GroupLimits) -> Result<Rc<Bpf>, Error> {
        let name = node.to_string();
        if let Some((limits, opened)) = self.nodes.get(&name)
            && limits == groups
        {
            return Ok(Rc::clone(opened));
        }
        let opened = Bpf::open(node.clone(), groups.clone())?;
        self.nodes.insert(name, (groups.clone(), Rc::clone(&opened)));
        Ok(opened)
    }
}

impl Opener for BpfOpener {
    fn open(
        &mut self,
        node: &Node,
        groups: &GroupLimits,
        subsystem: &'static Subsystem,
    ) -> Result<(Box<dyn Arm>, Price), Error> {
        if !self.prices.contains_key(subsystem.name) {
            // On the whole host, so that the work is counted; its programs are gone before the first of the node comes.
            let host = Bpf::open(Node::Host, groups.clone())?;
            self.prices.insert(subsystem.name, calibrate(&host, subsystem)?.price);
        }
        let arm = self.node(node, groups)?.arm(subsystem)?;
        Ok((arm, self.prices[subsystem.name].clone()))
    }
}
