"""The machine that a step ran on is told without a name of a host or user."""

import getpass
import os
import platform

from compendium.workflow.machine import describe_machine


def test_hardware_and_system_are_told_and_nobody_is_named():
    found = describe_machine()
    assert {"system", "processor", "cores"} <= set(found) and platform.system() in found["system"]
    assert 1 <= found["cores"] <= os.cpu_count() and platform.machine() in found["processor"]
    said = " ".join(map(str, found.values())).lower()
    assert platform.node().lower() not in said.split() and getpass.getuser().lower() not in said.split()
