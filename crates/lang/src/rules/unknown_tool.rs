//! RAG0102: the plan names an unknown tool.
//!
//! What: a plan can only name tools that the host offers.
//! Why: a plan gets exactly the abilities that it names, so each must exist
//! before anything runs.
//! Example: `tools ["lokup_order"]`
//! Instead: `tools ["lookup_order"]`

use rustagents_core::Code;

use super::Context;
use crate::{
    diagnostic::{Report, Wording},
    names::{shown, suggestion},
    outline::Node,
};

pub(super) fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for tool in context.outline.nodes.iter().flat_map(Node::tools) {
        let name = tool.value();
        if context.capabilities.tool(&name).is_none() {
            report.error(Code::UnknownTool, tool.range(), || {
                let known = context.capabilities.tools().map(|tool| tool.name.as_str());
                let known: Vec<_> = known.collect();
                Wording::new(format!("unknown tool {}", shown(&name))).help(suggestion(
                    &name,
                    "tools",
                    known.into_iter(),
                ))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, in_node};

    #[test]
    fn a_tool_is_known() {
        check(
            &in_node("tools [\"lokup_order\", \"refund\", \"search\"]"),
            &[
                "RAG0102 unknown tool `lokup_order` (did you mean `lookup_order`?)",
                "RAG0102 unknown tool `search` (known tools: `lookup_order`, `refund`, `open_claim`)",
            ],
        );
        check(&in_node("tools []"), &[]);
    }
}
