//! The agent machine: typestate loop, evidence, tools, approval, driver.
