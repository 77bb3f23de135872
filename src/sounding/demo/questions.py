"""A dozen questions that the documentation of the standard library answers, well or badly."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A topic of the demo."""

    id: str
    title: str
    description: str
    narrative: str


QUESTIONS = (
    Question(
        "D01", "copy a directory tree",
        "How do I copy a whole folder, with all the files in it, to another place?",
        "Relevant: functions that copy a folder, or that one would call for each file on the way, and what"
        " decides which files are left out. Not relevant: copying objects in memory.",
    ),
    Question(
        "D02", "measure elapsed time",
        "How do I find out how long a piece of code takes to run?",
        "Relevant: clocks that are fit for measuring durations, and tools that time code. Not relevant:"
        " calendars, dates, formatting of times, waiting.",
    ),
    Question(
        "D03", "run another program and read its output",
        "How do I start an external command, wait for it and get what it printed?",
        "Relevant: starting processes, their pipes and their exit codes. Not relevant: threads, and running"
        " Python functions in worker processes.",
    ),
    Question(
        "D04", "temporary file or directory",
        "How do I make a temporary file or folder that is removed when I am done with it?",
        "Highly relevant: what makes and removes it. Relevant: what names temporary files or says where they"
        " go. Not relevant: removing files in general.",
    ),
    Question(
        "D05", "read comma separated values",
        "How do I read a table from a CSV file, with a header and quoted fields?",
        "Relevant: readers of such tables and what describes their dialects. Not relevant: writers alone, and"
        " splitting of strings in general.",
    ),
    Question(
        "D06", "lock shared by threads",
        "How do I keep two threads from changing the same thing at the same time?",
        "Relevant: locks, semaphores, conditions and queues for threads. Partly, that is grade 1: the same"
        " for processes or coroutines. Not relevant: locks on files or mailboxes.",
    ),
    Question(
        "D07", "random sample without replacement",
        "How do I draw some elements of a list at random, none of them twice?",
        "Relevant: drawing and shuffling. Not relevant: random numbers for cryptography, distributions of"
        " numbers.",
    ),
    Question(
        "D08", "parse options of the command line",
        "How does my script understand the options and arguments that it was called with?",
        "Relevant: parsers of command lines and what defines their arguments. Not relevant: configuration"
        " files, and splitting of shell commands as such.",
    ),
    Question(
        "D09", "compress data",
        "How do I make bytes or a file smaller, and get them back?",
        "Relevant: compression and decompression of bytes, files and streams, archives included. Not"
        " relevant: archives' lists of members, encodings that make data larger.",
    ),
    Question(
        "D10", "download a page over http",
        "How do I fetch what is at a web address?",
        "Relevant: clients that open addresses or send requests. Not relevant: servers, and taking addresses"
        " apart.",
    ),
    Question(
        "D11", "cache the results of a function",
        "How do I keep a slow function from being computed again for the same arguments?",
        "Relevant: caches of results and of properties. Not relevant: caches of lines, of regular"
        " expressions, of compiled files.",
    ),
    Question(
        "D12", "date from a string",
        "How do I turn text such as 2006-08-07 into a date or a time?",
        "Relevant: parsing of dates and times. Not relevant: formatting them, arithmetic with them.",
    ),
)  # fmt: skip
