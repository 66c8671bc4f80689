//! The graph machine: channels, builder, supersteps, asks, driver.
