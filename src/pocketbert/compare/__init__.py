"""Models side by side on this machine: size, arithmetic, time, memory and scores."""
