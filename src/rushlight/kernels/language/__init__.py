"""The loop program: values, instructions, builder, verifier, interpreter, simplifier, text form. Imports nothing of ours."""
