"""Policies: their spec strings, both ways, and what is refused where."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchlab.core.declared import Parameter
from batchlab.core.vocabulary import FAVOURED_SIZES
from batchlab.errors import PolicyError, PolicyNotFound
from batchlab.policy import ALLOCATORS, BACKFILLS, DISCIPLINES, ORDERS, Policy, SlurmParameters
from batchlab.policy.registry import PAPER_NAMES
from batchlab.policy.slurm import PARAMETERS

FORMULAS = (
    st.text(st.characters(exclude_characters="\"'", exclude_categories=["C", "Z"]) | st.just(" "), min_size=1)
    .map(str.strip)
    .filter(bool)
)
SEEDS = st.integers(0, 2**64 - 1)
PLAIN_ORDERS = sorted(set(ORDERS) - {"reject", "random", "expression"})
ORDER_SPECS = (
    st.sampled_from([*PLAIN_ORDERS, "random"])
    | SEEDS.map("random({})".format)
    | FORMULAS.map('expression("{}")'.format)
    | st.floats(0, 2**53).map("sbp(growth={!r})".format)
    | st.builds(
        "multifactor(age={!r}, favour={}, tres='core={!r}')".format,
        st.floats(0, 2**53),
        st.sampled_from(FAVOURED_SIZES),
        st.floats(0, 2**53),
    )
)


def value_of(parameter: Parameter) -> st.SearchStrategy[object]:
    """Return the values of a parameter of `slurm`."""
    if parameter.kind == "switch":
        return st.booleans()
    if parameter.kind == "word":
        return st.sampled_from(parameter.words)
    if parameter.kind == "whole":
        bounds = parameter.least, parameter.most
        values: st.SearchStrategy[object] = st.integers(
            *(None if each is None else int(each) for each in bounds)
        )
    else:
        # `sched_interval`, the one bound that is another parameter, is 1 at least.
        values = st.floats(parameter.least or 0.0, min(parameter.below or 1.0, 1e9), exclude_max=True)
    return values if parameter.usual is not None else st.none() | values


def slurm_parameters(values: dict[str, object]) -> SlurmParameters:
    """Return parameters without those that the others rule out."""
    needs = {name: PARAMETERS[name].requires for name in values}
    fit = {
        name: value
        for name, value in values.items()
        if (need := needs[name]) is None or values[need[0]] == need[1]
    }
    return SlurmParameters(**fit)  # type: ignore[arg-type]  # each of its kind


# The least priority needs the order `multifactor`.
SLURM = st.fixed_dictionaries(
    {name: value_of(each) for name, each in PARAMETERS.items() if name != "bf_min_prio_reserve"}
).map(slurm_parameters)
POLICIES = (
    st.builds(Policy, ORDER_SPECS, st.just("slurm"), slurm=SLURM)
    | st.just(Policy(order="reject"))
    | (
        st.builds(
            Policy,
            ORDER_SPECS,
            st.sampled_from(sorted(BACKFILLS.keys() - {"slurm"})),
            st.sampled_from(sorted(ALLOCATORS)),
        )
        | st.builds(
            Policy,
            st.just("fcfs"),
            st.sampled_from(sorted(DISCIPLINES)),
            st.sampled_from(sorted(ALLOCATORS)),
        )
        | st.builds(
            Policy,
            ORDER_SPECS,
            st.just("easy"),
            st.sampled_from(sorted(ALLOCATORS)),
            st.integers(1, 2**31 - 1),
        )
    )
)


def answer(text: str) -> str:
    """Parse a spec; give its canonical form or the error's message."""
    try:
        return str(Policy.parse(text))
    except PolicyError as error:
        return str(error)


@given(POLICIES)
def test_round_trip(policy: Policy) -> None:
    """Every policy is named by its spec string."""
    assert Policy.parse(str(policy)) == policy
    assert str(Policy.parse(str(policy))) == str(policy)


@given(st.text() | st.text(alphabet="easy(order=sjf, rndom7)\"'0") | st.sampled_from(["easy", "random"]))
def test_any_text_is_a_policy_or_an_error(text: str) -> None:
    """No text does worse than PolicyError, and its message is one line."""
    assert answer(text).isprintable()


@given(POLICIES, st.data())
def test_damaged_specs(policy: Policy, data: st.DataObject) -> None:
    """A spec with a piece cut out is another policy or an error."""
    text = str(policy)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert answer(text[:start] + text[end:]).isprintable()


@pytest.mark.parametrize("name", sorted({*ORDERS, *BACKFILLS, *DISCIPLINES} - {"expression"}))
def test_every_name_alone_is_a_policy(name: str) -> None:
    """Orders and backfilling rules are policies by themselves."""
    policy = Policy.parse(name)
    assert name in {policy.order_name, policy.backfill}


@pytest.mark.parametrize(
    ("text", "policy", "canonical"),
    [
        ("easy", Policy(backfill="easy"), "easy"),
        ("conservative", Policy(backfill="conservative"), "conservative"),
        ("first_fit", Policy(backfill="first_fit"), "fcfs(backfill=first_fit)"),
        ("none", Policy(), "fcfs"),
        ("sjf(backfill=easy)", Policy("sjf", "easy"), "easy(order=sjf)"),
        (
            " easy( order = sjf ,allocator=best_fit, reservations=2,) ",
            Policy("sjf", "easy", "best_fit", 2),
            "easy(order=sjf, allocator=best_fit, reservations=2)",
        ),
        ("ljf(allocator=next_fit)", Policy("ljf", allocator="next_fit"), "ljf(allocator=next_fit)"),
        ("random", Policy("random(0)"), "random(0)"),
        (
            "random(7, allocator=random)",
            Policy("random(7)", allocator="random"),
            "random(7, allocator=random)",
        ),
        ("random(seed=7)", Policy("random(seed=7)"), "random(7)"),
        ("easy(order=random(7))", Policy("random(7)", "easy"), "easy(order=random(7))"),
        (
            "expression('max(tasks, 1) - now', backfill=first_fit)",
            Policy('expression("max(tasks, 1) - now")', "first_fit"),
            'expression("max(tasks, 1) - now", backfill=first_fit)',
        ),
        ("reject", Policy("reject"), "reject"),
    ],
)
def test_specs(text: str, policy: Policy, canonical: str) -> None:
    """What a spec means, and how it is written canonically."""
    assert Policy.parse(text) == policy
    assert str(policy) == canonical


@pytest.mark.parametrize(
    ("order", "name", "argument"),
    [
        ("sjf", "sjf", ""),
        ("random", "random", "0"),
        ("random( 7 )", "random", "7"),
        ('expression(" now - submit_time ")', "expression", "now - submit_time"),
    ],
)
def test_order_name_and_argument(order: str, name: str, argument: str) -> None:
    """An order comes apart into what the kernel needs."""
    policy = Policy(order)
    assert (policy.order_name, policy.order_argument) == (name, argument)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "esay",
            "no policy named 'esay'. Did you mean 'easy'? Known: configured, conservative, ",
        ),
        ("best_fit", "'best_fit' is an allocator, not a policy. Write 'fcfs(allocator=best_fit)'"),
        ("easy(order=sjff)", "no order named 'sjff'. Did you mean 'sjf'?"),
        ("easy(order=sjff)", "At character 12 of 'easy(order=sjff)'."),
        ("sjf(backfill=aesy)", "no backfilling rule named 'aesy'. Did you mean 'easy'?"),
        (
            "sjf(allocator=fist_fit)",
            "no allocator named 'fist_fit'. Did you mean 'first_fit'? Known: balanced,",
        ),
        ("easy(order=easy)", "'easy' is a backfilling rule, not an order. Write backfill=easy."),
    ],
)
def test_unknown_names(text: str, message: str) -> None:
    """An unknown name is answered with the nearest and with all that are known."""
    with pytest.raises(PolicyNotFound, match=re.escape(message)):
        Policy.parse(text)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("FCFS/BF", "first_fit"),
        (" FIFO ", "fcfs"),
        ("EBF", "easy_accasim"),
        ("MPP", "mpp(backfill=first_fit)"),
    ],
)
def test_names_of_papers(name: str, spec: str) -> None:
    """A name of a paper is the policy of its spec, and is written as the spec."""
    assert Policy.parse(name) == Policy.parse(spec)
    assert str(Policy.parse(name)) == str(Policy.parse(spec))


@pytest.mark.parametrize("name", ["SJF", "LJF"])
def test_names_with_two_meanings(name: str) -> None:
    """A name that papers use for two policies is refused with both specs, each of which is valid."""
    with pytest.raises(PolicyNotFound, match=re.escape(f"policy = {name!r}; the name has two meanings")):
        Policy.parse(name)
    assert len({Policy.parse(spec) for spec in PAPER_NAMES[name]}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the end is no name; write one, e.g. easy or easy(order=sjf). At character 1 of ''."),
        ("(", "'(' is no name; write one"),
        ("easy(", "At character 6 of 'easy('."),
        ("easy(order=sjf", "this '(' is not closed; add ')'. At character 5 of"),
        ("easy)", "')' follows the policy; a spec is one name and one pair of parentheses. At character 5"),
        ("easy(order=sjf ljf)", "'ljf)' is neither ',' nor ')'. At character 16"),
        (
            "easy(odrer=sjf)",
            "easy takes no key 'odrer'. Did you mean 'order'? Known: allocator, backfill, order",
        ),
        ("easy(order=sjf, order=ljf)", "key 'order' is given twice; keep one. At character 17"),
        (
            "easy(backfill=none)",
            "backfill is given twice, by 'easy' and by 'backfill='; keep one. At character 15",
        ),
        ("sjf(order=ljf)", "sjf takes no key 'order'"),
        ("easy(sjf)", "this value of easy needs a key, e.g. easy(allocator=best_fit). At character 6"),
        (
            "easy(allocator=best_fit, sjf)",
            "a value without a key must stand before the keys. At character 26",
        ),
        ("random(3)(4)", "'(4)' follows the policy"),
        ("easy(order(3)=sjf)", "a key is a bare name. At character 6"),
        ("easy(order=3)", "order = 3; must be a name. At character 12"),
        (
            "easy(reservations=0)",
            "reservations = 0; must be a whole number from 1 to 2^31 - 1. At character 19",
        ),
        ("easy(reservations=two)", "reservations = two; must be a whole number"),
        ("easy(reservations=1.5)", "reservations = 1.5; must be a whole number"),
        (
            "conservative(reservations=2)",
            "reservations = 2 goes with backfill easy, not with conservative; leave it out",
        ),
        ("random(-1)", "seed = -1; must be a whole number from 0 to 2^64 - 1. At character 8"),
        ("random(18446744073709551616)", "seed = 18446744073709551616; must be a whole number"),
        ("random(" + "9" * 5000 + ")", "this integer has too many digits"),
        ("random(1, seed=2)", "the seed of random is given twice"),
        ("random(1, 2)", "this value of random needs a key"),
        (
            "easy(order=random(random(3)))",
            "seed = random(…); must be a whole number from 0 to",
        ),
        ("(" * 100_000, "is no name"),
        ("a(" * 100_000, "a takes no parentheses here. At character 18"),
        ("expression", "expression of nothing; must be a quoted formula"),
        ("expression(now)", "expression of 'now'; must be a quoted formula"),
        ("expression(7)", "expression of 7; must be a quoted formula"),
        ('expression("  ")', "expression of ''; must be a quoted formula"),
        ('expression("it\'s")', "printable and without quotes in it"),
        ('expression("a\nb")', "printable and without quotes in it"),
        ('expression("now)', 'this " is not closed; add another at the end of the text. At character 12'),
        ("reject(backfill=easy)", "reject starts no job"),
    ],
    ids=lambda value: value[:40],
)
def test_bad_specs(text: str, message: str) -> None:
    """Each way to be wrong has one error, which says where in the spec."""
    with pytest.raises(PolicyError, match=re.escape(message)):
        Policy.parse(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": "sjff"}, "no order named 'sjff'. Did you mean 'sjf'?"),
        ({"order": 3}, "order = 3; must be a name, e.g. 'fcfs', or a function of the jobs' columns."),
        ({"order": "sjf(backfill=easy)"}, "sjf takes no key 'backfill'"),
        ({"order": "easy"}, "'easy' is a backfilling rule, not an order."),
        ({"backfill": "esay"}, "no backfilling rule named 'esay'. Did you mean 'easy'?"),
        ({"allocator": None}, "allocator = None; must be a name."),
        ({"backfill": "easy", "reservations": True}, "reservations = True; must be a whole number from 1"),
        ({"reservations": 2}, "reservations = 2 goes with backfill easy, not with none"),
        ({"order": "reject", "allocator": "best_fit"}, "reject starts no job"),
        ({"order": "sjf", "backfill": "lcfs"}, "lcfs takes the jobs in an order of its own"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    """Policies made in Python are checked by the same rules."""
    with pytest.raises(PolicyError, match=re.escape(message)):
        Policy(**arguments)  # type: ignore[arg-type]


def test_a_spec_is_text() -> None:
    """A policy in place of its spec is refused, not guessed at."""
    with pytest.raises(PolicyError, match="must be a spec string"):
        Policy.parse(Policy())  # type: ignore[arg-type]


def test_tables_tell_what_the_names_do() -> None:
    """Every name has a line for people; the published ones say where they come from."""
    rules = {**ORDERS, **BACKFILLS, **DISCIPLINES, **ALLOCATORS}
    assert all(rule.source for rule in DISCIPLINES.values())
    assert all(rule.summary for rule in rules.values())
    assert all(
        rules[name].source for name in ["wfp3", "unicef", "f1", "f2", "f3", "f4", "easy", "conservative"]
    )
