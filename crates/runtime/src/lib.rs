//! Lowers blueprints to graphs and agents, opens and resumes runs.
