//! Documents of graphs: each has a verdict, and what is accepted is written and read
//! back the same, and can be drawn, checked and compared.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustagents_graph::GraphTopology;

fuzz_target!(|document: &[u8]| {
    match GraphTopology::from_json(document) {
        Err(error) => drop(error.to_string()),
        Ok(graph) => {
            let again = GraphTopology::from_json(graph.to_json().as_bytes());
            assert_eq!(again.as_ref(), Ok(&graph));
            assert!(graph.diff(&graph).is_empty());
            let nothing = GraphTopology::new("");
            for diff in [graph.diff(&nothing), nothing.diff(&graph)] {
                let _ = diff.to_string();
            }
            let _ = (graph.to_mermaid(), graph.to_dot(), graph.to_text());
            for finding in graph.analyse().findings {
                assert_eq!(finding.to_string().lines().count(), 1);
            }
        }
    }
});
