"""The text form of loop programs: ``write`` a program, ``read`` it back.

program scale

function scale(x: f32*, out: f32*, n: i64, factor: f32)
  %0 = splat factor : f32x16
  %1 = div n, 16 : i64
  parallel %2 < %1
    %3 = mul %2, 16 : i64
    %4 = offset x, %3 : f32*
    %5 = load %4 : f32x16
    %6 = mul %5, %0 : f32x16
    %7 = offset out, %3 : f32*
    store %6, %7

A line defines at most one value and ends with its type. Values are numbered in order; parameters keep their names, and
so do values that were given one (``%total``). Constants stand where they are used: as a number where the type follows
from the line, as ``f32x4(0.5)`` or ``i32x4(0, 1, 2, 3)`` elsewhere. Blocks are indented. ``#`` begins a comment.

``write(read(text))`` is ``text`` for every text that ``write`` wrote. Numbers are exact: the shortest digits that give
the same value of their type.
"""

from .grammar import ProgramSyntaxError
from .reader import read
from .writer import describe, write
