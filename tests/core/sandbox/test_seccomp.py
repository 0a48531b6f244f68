import errno
import struct

import pytest

from desktop_agent.core.sandbox.metadata_supervisor import CALLS
from desktop_agent.core.sandbox.seccomp import build_filter

ALLOW, ASK, ERRNO, KILL = 0x7FFF0000, 0x7FC00000, 0x00050000, 0x80000000
X86, ARM = 0xC000003E, 0xC00000B7
REFUSED = ERRNO | errno.EPERM


def verdict(code: bytes, number: int, *arguments: int, arch: int = X86) -> int:
    padded = [*arguments, *([0] * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    instructions = [struct.unpack_from("<HBBI", code, offset) for offset in range(0, len(code), 8)]
    at, register = 0, 0
    while True:
        operation, when_true, when_false, value = instructions[at]
        at += 1
        match operation:
            case 0x20:
                register = struct.unpack_from("<I", data, value)[0]
            case 0x54:
                register &= value
            case 0x06:
                return value
            case _:
                tests = {0x15: register == value, 0x35: register >= value, 0x45: bool(register & value)}
                at += when_true if tests[operation] else when_false


def built(
    *, is_alone: bool = True, machine: str = "x86_64", is_supervised: bool = True, is_read_only: bool = False
) -> bytes:
    code = build_filter(is_alone=is_alone, is_supervised=is_supervised, is_read_only=is_read_only, machine=machine)
    assert code is not None
    assert len(code) % 8 == 0
    assert len(code) // 8 <= 4096
    return code


@pytest.mark.parametrize(
    ("family", "alone", "in_namespaces"),
    [(1, REFUSED, REFUSED), (2, REFUSED, ALLOW), (10, REFUSED, ALLOW), (16, ALLOW, ALLOW), (17, REFUSED, REFUSED),
     (40, REFUSED, REFUSED)],
    ids=["unix", "inet", "inet6", "netlink", "packet", "vsock"],
)  # fmt: skip
def test_sockets_by_family(family: int, alone: int, in_namespaces: int) -> None:
    """With a network of its own, the command's is bubblewrap's empty one."""
    assert verdict(built(), 41, family, 1) == alone
    assert verdict(built(is_alone=False), 41, family, 1) == in_namespaces


def test_only_connected_pairs() -> None:
    code = built()
    assert verdict(code, 53, 1, 1 | 0o2000000) == ALLOW
    assert verdict(code, 53, 1, 5) == ALLOW
    for kind in (2, 3, 4):
        assert verdict(code, 53, 1, kind | 0o2000000) == REFUSED


def test_threads_and_processes_but_no_namespaces() -> None:
    code = built()
    assert verdict(code, 56, 0x3D0F00) == ALLOW
    assert verdict(code, 56, 0x10000000 | 17) == REFUSED
    assert verdict(code, 435) == ERRNO | errno.ENOSYS
    assert verdict(code, 272, 0x10000000) == REFUSED


@pytest.mark.parametrize(("machine", "arch", "column"), [("x86_64", X86, 0), ("aarch64", ARM, 1)])
def test_every_call_for_metadata_is_asked_about(machine: str, arch: int, column: int) -> None:
    for is_read_only in (False, True):
        code = built(machine=machine, is_read_only=is_read_only)
        numbers = [number for call in CALLS.values() if (number := call.numbers[column]) is not None]
        assert {verdict(code, number, *[0o755] * 6, arch=arch) for number in numbers} == {ASK}


def test_dangerous_modes_are_not_asked_about() -> None:
    code = built()
    assert verdict(code, 90, 0, 0o755) == ASK
    assert verdict(code, 90, 0, 0o1755) == REFUSED
    assert verdict(code, 268, 0, 0, 0o4755) == REFUSED
    assert verdict(code, 91, 3, 0o666) == REFUSED
    assert verdict(code, 452, 3, 0, 0o2755) == REFUSED


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize(("machine", "arch", "column"), [("x86_64", X86, 0), ("aarch64", ARM, 1)])
def test_no_new_file_runs_as_its_owner_for_others(machine: str, arch: int, column: int, *, is_alone: bool) -> None:
    code = built(is_alone=is_alone, machine=machine)
    calls = [((2, None), (0, 0o101, 0o4755)), ((257, 56), (0, 0, 0o101, 0o2755)), ((85, None), (0, 0o6755)),
             ((133, None), (0, 0o104755)), ((259, 33), (0, 0, 0o102755)),
             ((257, 56), (0, 0, 0o20200001, 0o4755))]  # fmt: skip
    for numbers, arguments in calls:
        if (number := numbers[column]) is not None:
            assert verdict(code, number, *arguments, arch=arch) == REFUSED
            assert verdict(code, number, *arguments[:-1], arguments[-1] & ~0o6000, arch=arch) == ALLOW
    assert verdict(code, (257, 56)[column], 0, 0, 0o1, 0o4755, arch=arch) == ALLOW, "without O_CREAT it is no mode"
    assert verdict(code, 437, arch=arch) == ERRNO | errno.ENOSYS
    assert verdict(code, (95, 166)[column], 0o022, arch=arch) == ALLOW
    assert verdict(code, (95, 166)[column], 0, arch=arch) == ASK


def test_where_mounts_say_what_may_be_written_only_dangerous_modes_are_refused() -> None:
    for is_supervised in (True, False):
        code = built(is_alone=False, is_supervised=is_supervised)
        for number, argument in ((90, 1), (91, 1), (268, 2), (452, 2)):
            arguments = [0] * argument
            assert {verdict(code, number, *arguments, mode) for mode in (0o600, 0o755, 0o664)} == {ALLOW}
            assert {verdict(code, number, *arguments, mode) for mode in (0o4755, 0o2755, 0o1777, 0o757)} == {REFUSED}
        expected = ASK if is_supervised else ERRNO | errno.EOPNOTSUPP
        assert {verdict(code, number) for number in (188, 189, 190, 463)} == {expected}
        assert {verdict(code, number) for number in (92, 132, 197, 280)} == {ALLOW}
    assert verdict(built(is_alone=False, is_supervised=False), 95, 0) == ALLOW


def test_without_a_supervisor_nothing_is_opened_to_others() -> None:
    code = built(is_supervised=False)
    for number, argument in ((90, 1), (91, 1), (268, 2), (452, 2)):
        arguments = [0] * argument
        assert {verdict(code, number, *arguments, mode) for mode in (0o600, 0o700, 0)} == {ALLOW}
        assert {verdict(code, number, *arguments, mode) for mode in (0o604, 0o710, 0o4700)} == {REFUSED}
        assert verdict(built(is_supervised=False, is_read_only=True), number, *arguments, 0o600) == REFUSED
    assert {verdict(code, number) for number in (92, 93, 94, 260, 188, 190, 197, 463, 466)} == {REFUSED}
    assert {verdict(code, number) for number in (132, 235, 261, 280)} == {ALLOW}


@pytest.mark.parametrize(
    ("number", "argument"),
    [(302, 0), (203, 0), (144, 0), (142, 0), (314, 0), (141, 1), (251, 1), (256, 0), (279, 0)],
)
def test_a_process_changes_only_itself(number: int, argument: int) -> None:
    assert verdict(built(), number, *([1] * argument), 0) == ALLOW
    assert verdict(built(), number, *([1] * argument), 4711) == REFUSED


def test_no_objects_of_the_machine() -> None:
    assert {verdict(built(), number) for number in (29, 30, 31, 64, 65, 66, 68, 69, 240, 242)} == {REFUSED}


def test_no_keys_pressed_for_the_terminal() -> None:
    assert verdict(built(), 16, 0, 0x5412) == REFUSED
    assert verdict(built(), 16, 0, 0x5401) == ALLOW


def test_other_architectures_numbers_are_not_misread() -> None:
    assert verdict(built(), 41, arch=0x40000003) == KILL
    assert verdict(built(), 0x40000000 | 41) == REFUSED
    arm = built(machine="aarch64")
    assert verdict(arm, 198, 2, 1, arch=ARM) == REFUSED
    assert verdict(arm, 63, arch=ARM) == ALLOW
    assert build_filter(is_alone=True, machine="riscv64") is None


def test_reading_and_writing_are_allowed() -> None:
    assert {verdict(built(), number) for number in (0, 1, 2, 3, 9, 59, 257)} == {ALLOW}
