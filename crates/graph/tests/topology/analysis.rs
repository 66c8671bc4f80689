use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};
use rustagents_graph::{
    GraphTopology, TopologyEdge, TopologyEdgeKind, TopologyNode, topology::FindingKind,
};
use serde_json::json;

use super::bench::{any_graph, nested, shape};

/// The findings, one a line.
fn found(graph: &GraphTopology) -> String {
    let findings = graph.analyse().findings.into_iter();
    findings.fold(String::new(), |text, finding| {
        text + &finding.to_string() + "\n"
    })
}

#[test]
fn a_sound_graph_has_no_findings() {
    let ways = [
        "START a",
        "START b",
        "a x c",
        "a y b",
        "b d",
        "c+d e",
        "b ~ END",
        "e again a",
        "e END",
    ];
    assert_eq!(found(&shape(&ways)), "");
    assert!(GraphTopology::new("empty").analyse().is_empty());
}

#[test]
fn each_finding_is_a_line() {
    for (ways, says) in [
        (
            &["START a", "a END", "b END"][..],
            "warning[unreachable_node]: `b` can never run\n",
        ),
        (
            &["START a", "START b", "a END", "b c", "c END", "b ~ dead"],
            "error[no_way_to_end]: `dead` has no way to the end\n",
        ),
        (
            &["START a", "a b", "b x a", "b y c", "c c"],
            "error[no_way_to_end]: `a` has no way to the end\n\
             error[no_way_to_end]: `b` has no way to the end\n\
             error[endless_loop]: nothing leads out of the loop of `c`\n",
        ),
        (
            &["START a", "a END", "a b", "b c", "c x b", "c y b"],
            "error[endless_loop]: nothing leads out of the loop of `b`, `c`\n",
        ),
        (
            &["START a", "a+b c", "c END", "b END"],
            "warning[unreachable_node]: `b` can never run\n\
             warning[unreachable_node]: `c` can never run\n\
             error[dead_join]: the join before `c` never fires: `b` can never run\n",
        ),
        (
            &["START r", "r x a", "r y b", "a+b c", "c END"],
            "warning[uncertain_join]: the join before `c` may never fire: `a` and `b` lie on \
             alternative routes of `r`\n",
        ),
        (
            &["START a", "a !b", "b x a", "b y END"],
            "warning[deferred_in_loop]: `b` is deferred, and lies in a loop\n",
        ),
        (
            &["START a", "a x b", "a x b", "a x b", "a y b", "b END"],
            "warning[duplicate_edge]: the edge from `a` to `b` is there 3 times\n",
        ),
    ] {
        assert_eq!(found(&shape(ways)), says, "{ways:?}");
    }
}

#[test]
fn a_join_may_wait_for_what_waits_for_it() {
    let text = found(&shape(&["START a", "a+b c", "c b", "c END"]));
    assert!(
        text.contains("dead_join]: the join before `c` never fires: `b` can"),
        "{text}"
    );
}

#[test]
fn a_join_behind_routes_is_certain_where_both_are_taken_or_lead_to_all() {
    for ways in [
        &["START r", "r x a", "r x b", "r y END", "a+b c", "c END"][..],
        &["START r", "r x a", "r y a", "START b", "a+b c", "c END"],
        &[
            "START r", "r x a", "r y b", "a m", "b m", "m n", "m o", "n+o c", "c END",
        ],
        &[
            "START r", "START s", "r x a", "r y END", "s x b", "s y END", "a+b c", "c END",
        ],
        // The loop may take the one way, and later the other.
        &["START r", "r x a", "r y b", "a r", "b r", "a+b c", "c END"],
        &["START r", "r ~ a", "r ~ b", "a+b c", "c END"],
    ] {
        assert_eq!(found(&shape(ways)), "", "{ways:?}");
    }
}

#[test]
fn a_loop_that_is_left_by_routes_leaves_a_join_uncertain() {
    let ways = [
        "START r", "r z r", "r x a", "r y b", "b d", "a+d c", "c END",
    ];
    let text = found(&shape(&ways));
    assert!(
        text.contains("`a` and `d` lie on alternative routes of `r`"),
        "{text}"
    );
}

#[test]
fn a_finding_in_a_subgraph_says_where() {
    let inner = nested(
        shape(&["START x", "x END"]),
        "x",
        shape(&["START y", "y y"]),
    );
    let graph = nested(shape(&["START a", "a END"]), "a", inner);
    let says = "error[endless_loop]: in `a`: in `x`: nothing leads out of the loop of `y`\n";
    assert_eq!(found(&graph), says);
    let expected = json!({"findings": [{
        "kind": "endless_loop",
        "severity": "error",
        "graph": ["a", "x"],
        "nodes": ["y"],
        "message": "nothing leads out of the loop of `y`",
        "hint": "give one of its nodes a way out, such as a route to END",
    }]});
    assert_eq!(json!(graph.analyse()), expected);
}

#[test]
fn a_dead_end_in_a_subgraph_leaves_it() {
    let inner = shape(&["START x", "x ~ y", "x END"]);
    assert!(found(&inner).contains("`y` has no way to the end"));
    assert_eq!(found(&nested(shape(&["START a", "a END"]), "a", inner)), "");
}

#[test]
fn what_handles_failures_is_reached() {
    assert_eq!(found(&shape(&["START a", "a END", "a ! b", "b END"])), "");
    let ways = ["START a", "a ~ d", "a END", "d ! c", "c END"];
    let expected = "error[no_way_to_end]: `d` has no way to the end\n";
    assert_eq!(found(&shape(&ways)), expected);
    let ways = ["START a", "a b", "b a", "b ! c", "c END"];
    let expected = "error[endless_loop]: nothing leads out of the loop of `a`, `b`\n";
    assert_eq!(found(&shape(&ways)), expected);
    let inner = shape(&["START x", "x ! y", "y END"]);
    assert_eq!(found(&nested(shape(&["START a", "a END"]), "a", inner)), "");
}

#[test]
fn a_large_graph_is_looked_at_without_recursion() {
    let names: Vec<_> = (0..10_000).map(|index| format!("n{index}")).collect();
    let mut line = GraphTopology::new("line");
    line.nodes = names.iter().map(TopologyNode::new).collect();
    line.edges.push(TopologyEdge::direct("START", "n0"));
    let steps = names.windows(2);
    line.edges
        .extend(steps.map(|two| TopologyEdge::route(&two[0], "on", &two[1])));
    let mut round = line.clone();
    round.edges.push(TopologyEdge::direct("n9999", "n0"));
    assert_eq!(line.analyse().findings.len(), 10_000);
    let findings = round.analyse().findings;
    assert_eq!((findings.len(), findings[0].nodes.len()), (1, 10_000));
    assert!(
        findings[0].message.ends_with("`n5` and 9994 more"),
        "{}",
        findings[0].message
    );
    for name in &names[1..] {
        for group in ["one", "other", "third", "fourth"] {
            line.edges.push(TopologyEdge::join(name, group, "END"));
        }
        line.edges.push(TopologyEdge::route(name, "off", "END"));
    }
    assert!(line.analyse().is_empty());
    line.edges[9_999] = TopologyEdge::route("n5000", "off", "n9999");
    let findings = line.analyse().findings;
    assert_eq!(findings.len(), 4);
    let nodes = ["n5000", "n9998", "n9999", "END"];
    assert!(
        findings.iter().all(|finding| finding.nodes == nodes),
        "{:?}",
        findings[0]
    );
}

/// A graph without loops: what leads to what, and how.
fn acyclic() -> impl Strategy<Value = GraphTopology> {
    let edge = (0_usize..8, 1_usize..8, 0_u8..5);
    vec(edge, 1..24).prop_map(|edges| {
        let mut graph = GraphTopology::new("g");
        graph.nodes = (0..8)
            .map(|index| TopologyNode::new(index.to_string()))
            .collect();
        graph.edges.push(TopologyEdge::direct("START", "0"));
        for (from, step, how) in edges {
            let (to, from) = ((from + step).min(8), from.to_string());
            let to = if to == 8 {
                "END".to_owned()
            } else {
                to.to_string()
            };
            graph.edges.push(match how {
                0 => TopologyEdge::direct(from, to),
                1 => TopologyEdge::route(from, "x", to),
                2 => TopologyEdge::route(from, "y", to),
                _ => TopologyEdge::join(from, "j", to),
            });
        }
        graph
    })
}

/// What runs from the start, by the edges that are left.
fn runs<'a>(edges: &[&'a TopologyEdge]) -> BTreeSet<&'a str> {
    let mut runs = BTreeSet::from(["START"]);
    loop {
        let before = runs.len();
        for edge in edges {
            let mut all = edges.iter().filter(|other| {
                other.kind == TopologyEdgeKind::Join
                    && (&other.to, &other.join) == (&edge.to, &edge.join)
            });
            let fires = match edge.kind {
                TopologyEdgeKind::Join => all.all(|edge| runs.contains(&*edge.from)),
                _ => runs.contains(&*edge.from),
            };
            if fires {
                runs.insert(&edge.to);
            }
        }
        if runs.len() == before {
            return runs;
        }
    }
}

/// The routes without which the node is never reached.
fn needed<'a>(edges: &[&'a TopologyEdge], node: &str) -> BTreeSet<(&'a str, &'a str)> {
    let loose: Vec<_> = edges
        .iter()
        .map(|edge| (*edge, TopologyEdge::direct(&edge.from, &edge.to)))
        .collect();
    let routes: BTreeSet<_> = edges
        .iter()
        .filter_map(|edge| Some((&*edge.from, edge.label.as_deref()?)))
        .collect();
    let is_needed = |(from, label): &(&str, &str)| {
        let left = loose.iter();
        let left =
            left.filter(|(edge, _)| (&*edge.from, edge.label.as_deref()) != (from, Some(label)));
        let left: Vec<_> = left.map(|(_, edge)| edge).collect();
        !runs(&left).contains(node)
    };
    routes.into_iter().filter(is_needed).collect()
}

proptest! {
    #[test]
    fn joins_are_told_as_by_trying_everything(graph in acyclic()) {
        let edges: Vec<_> = graph.edges.iter().collect();
        let runs = runs(&edges);
        let alive = |edge: &&&TopologyEdge| match edge.kind {
            TopologyEdgeKind::Join => edges.iter().all(|other| {
                other.kind != TopologyEdgeKind::Join || other.to != edge.to || runs.contains(&*other.from)
            }),
            _ => runs.contains(&*edge.from),
        };
        let alive: Vec<_> = edges.iter().filter(alive).copied().collect();
        let mut expected = BTreeSet::new();
        let mut joins: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for edge in edges.iter().filter(|edge| edge.kind == TopologyEdgeKind::Join) {
            joins.entry(&edge.to).or_default().push(&edge.from);
        }
        for (target, sources) in joins {
            if sources.iter().any(|source| !runs.contains(source)) {
                expected.insert((FindingKind::DeadJoin, target.to_owned()));
                continue;
            }
            let needed: Vec<_> = sources.iter().map(|source| needed(&alive, source)).collect();
            let routes = needed.iter().flatten();
            let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for (from, label) in routes {
                labels.entry(from).or_default().insert(label);
            }
            if labels.values().any(|labels| labels.len() > 1) {
                expected.insert((FindingKind::UncertainJoin, target.to_owned()));
            }
        }
        let findings = graph.analyse().findings;
        let is_join = |kind| matches!(kind, FindingKind::DeadJoin | FindingKind::UncertainJoin);
        let joins = findings.iter().filter(|finding| is_join(finding.kind));
        let told: BTreeSet<_> = joins.map(|f| (f.kind, f.nodes.last().unwrap().clone())).collect();
        prop_assert_eq!(told, expected);
        let idle = findings.iter().filter(|finding| finding.kind == FindingKind::UnreachableNode);
        let idle: BTreeSet<_> = idle.map(|finding| &*finding.nodes[0]).collect();
        let nodes = graph.nodes.iter().map(|node| &*node.name);
        prop_assert_eq!(idle, nodes.filter(|node| !runs.contains(node)).collect());
    }

    #[test]
    fn loops_without_an_exit_are_told_as_by_walking(graph in any_graph()) {
        let special = [TopologyEdgeKind::Join, TopologyEdgeKind::Error];
        let edges: Vec<_> = graph.edges.iter().filter(|edge| !special.contains(&edge.kind)).collect();
        let mut graph = graph.clone();
        graph.edges = edges.iter().map(|edge| (*edge).clone()).collect();
        let from = |node: &str| {
            let first = TopologyEdge::direct("START", node);
            let rest = edges.iter().filter(|edge| edge.from != "START").copied();
            let walk: Vec<_> = std::iter::once(&first).chain(rest).collect();
            let reached = runs(&walk);
            reached.into_iter().map(str::to_owned).collect::<BTreeSet<_>>()
        };
        let all = runs(&edges);
        let nodes = graph.nodes.iter().map(|node| &node.name);
        let mut expected = BTreeSet::new();
        for node in nodes.filter(|node| all.contains(node.as_str())) {
            let next = edges.iter().filter(|edge| edge.from == *node).map(|edge| &edge.to);
            let mut next = next.flat_map(|node| from(node)).collect::<BTreeSet<_>>();
            next.remove("START");
            let returns = |other: &String| from(other).contains(node);
            if next.contains(node) && next.iter().all(returns) {
                expected.extend(next);
            }
        }
        let findings = graph.analyse().findings;
        let told = findings.iter().filter(|f| f.kind == FindingKind::EndlessLoop && f.graph.is_empty());
        let told: BTreeSet<_> = told.flat_map(|finding| finding.nodes.clone()).collect();
        prop_assert_eq!(told, expected);
    }
}
