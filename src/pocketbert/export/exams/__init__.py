"""What exported models are asked before they may leave, a module for each task."""
