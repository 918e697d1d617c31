"""What makes a Plan of lowered operations, step by step."""
