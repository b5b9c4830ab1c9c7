"""Rebuilds a ledger's state from its exported lines, with nothing but the standard library.

A second, obvious reading of the records: it checks the chain with hashlib, applies each
event by what its fields say, and prints the state as JSON. It refuses nothing but a broken
chain, since what was recorded had been accepted.
"""

import hashlib
import json
import sys


def rebuild(lines):
    s = {
        "sequence": 0, "now": 0, "environment": None, "stages": {}, "write_gate": None,
        "switches": {}, "sessions": {}, "capabilities": {}, "evidence": {}, "bindings": {},
        "calls": {}, "effects": {}, "proposals": {}, "buckets": {}, "agents": {},
        "workspaces": {}, "runs": {},
    }
    previous = hashlib.sha256(b"bindery ledger 1").hexdigest()
    for place, line in enumerate(lines, 1):
        record = json.loads(line)
        if record["previous"] != previous or record["sequence"] != place:
            raise SystemExit(f"line {place} does not follow from the line before it")
        previous = hashlib.sha256(line.encode()).hexdigest()
        entry = record["entry"]
        (kind, event), = entry["event"].items()
        s["now"] = max(s["now"], entry["moment"])
        s["sequence"] = place
        APPLY[kind](s, place, event)
    return s


def text(value):
    return json.dumps(value, sort_keys=True)


def nothing(s, at, e):
    pass


def environment_admitted(s, at, e):
    s["environment"] = {
        "id": e["environment"], "tenant": e["tenant"], "generation": e["generation"],
        "catalog_version": e["catalog_version"], "policy_version": e["policy_version"],
        "providers": e["providers"], "expires_at": e["expires_at"],
    }


def generation_raised(s, at, e):
    s["environment"].update(
        generation=e["to"], tenant=e["tenant"], providers=e["providers"],
        expires_at=e["expires_at"])


def catalogue_changed(s, at, e):
    whose = s["environment"] if e["session"] is None else s["sessions"][e["session"]]
    whose["catalog_version"] = e["to"]
    standing = e.get("standing")
    for key, one in s["capabilities"].items() if standing else ():
        if one["catalog_version"] == e["from"] and key not in standing["except"]:
            one.update(catalog_version=e["to"], changed_by=at,
                       environment_generation=s["environment"]["generation"],
                       last_observed_at=standing["last_observed_at"],
                       expires_at=standing["expires_at"])


def policy_replaced(s, at, e):
    s["environment"]["policy_version"] = e["to"]


def stage_switched(s, at, e):
    s["stages"][str(e["stage"])] = e["on"]


def write_gate_accepted(s, at, e):
    s["write_gate"] = at


# Budgets: who draws from which; a call draws these at every depth for itself.

EACH = ("calls", "written_bytes", "egress_bytes")


def draws(call, scope):
    if scope == "environment":
        return True
    (kind, who), = scope.items()
    if kind == "session":
        return who == call["session"]
    return who == [call["tenant"], call["principal"]]


def buckets_of(s, call, meter):
    for key, bucket in s["buckets"].items():
        key = json.loads(key)
        rate = key["window_ms"] is not None
        own = rate or not call["parent"] or meter in EACH
        if key["meter"] == meter and draws(call, key["scope"]) and own:
            over = rate and s["now"] >= bucket["since"] + key["window_ms"]
            yield bucket, rate, over


def count(s, session, meter):
    who = s["sessions"][session]
    who = {"session": session, "tenant": who["tenant"], "principal": who["principal"],
           "parent": None}
    for bucket, rate, over in buckets_of(s, who, meter):
        if over:
            bucket["since"], bucket["spent"] = s["now"], 0
        bucket["spent"] += 1


def budget_set(s, at, e):
    key = text(e["bucket"])
    if e["limit"] is None:
        del s["buckets"][key]
    elif key in s["buckets"]:
        s["buckets"][key]["limit"] = e["limit"]
    else:
        held = 0
        if e["bucket"]["window_ms"] is None:
            held = sum(
                call["reserve"].get(e["bucket"]["meter"], 0) for call in s["calls"].values()
                if call["standing"] == "running"
                and (not call["parent"] or e["bucket"]["meter"] in EACH)
                and draws(call, e["bucket"]["scope"]))
        s["buckets"][key] = {
            "limit": e["limit"], "spent": 0, "reserved": held, "since": s["now"]}


def add(total, amounts):
    for meter, amount in amounts.items():
        total[meter] = total.get(meter, 0) + amount


def take_budget(s, call):
    if call["parent"]:
        parent = s["calls"][call["parent"]]
        add(parent["children_reserve"], call["reserve"])
        parent["children_running"] += 1
    for meter, amount in call["reserve"].items():
        for bucket, rate, over in buckets_of(s, call, meter):
            if over:
                bucket["since"], bucket["spent"] = s["now"], 0
            bucket["spent" if rate else "reserved"] += amount


def settle_budget(s, call, spent):
    spent = dict(spent)
    for meter, amount in call["children_spent"].items():
        if meter in EACH:
            continue
        spent[meter] = max(spent.get(meter, 0), amount)
    if "calls" in call["reserve"]:
        spent["calls"] = max(spent.get("calls", 0), call["reserve"]["calls"])
    if call["parent"] and call["parent"] in s["calls"]:
        parent = s["calls"][call["parent"]]
        for meter, amount in call["reserve"].items():
            if meter in parent["children_reserve"]:
                parent["children_reserve"][meter] = max(
                    0, parent["children_reserve"][meter] - amount)
        add(parent["children_spent"], spent)
        parent["children_running"] -= 1
    for meter in set(call["reserve"]) | set(spent):
        held, used = call["reserve"].get(meter, 0), spent.get(meter, 0)
        for bucket, rate, over in buckets_of(s, call, meter):
            if not rate:
                bucket["reserved"] = max(0, bucket["reserved"] - held)
                bucket["spent"] += used
            elif call["started_at"] >= bucket["since"] and not over:
                bucket["spent"] = max(0, bucket["spent"] - held) + used


# Switches and bindings.

def hits(target, capability, principal):
    if target == "all":
        return True
    (kind, what), = target.items()
    name, _, digest = capability.partition("@")
    return {
        "binding": False, "capability": what == name, "digest": what == digest,
        "namespace": what == name.split(":")[0], "principal": what == principal,
    }[kind]


def end_bindings(s, at, hit, to, trigger):
    while hit:
        for handle in hit:
            s["bindings"][handle]["ended"] = {"to": to, "trigger": trigger, "by": at}
        for call in s["calls"].values():
            if call["binding"] in hit and call["overtaken"] is None:
                call["overtaken"] = trigger
        hit = {
            handle for handle, binding in s["bindings"].items()
            if binding["ended"] is None and binding["parent"] in hit}
        trigger = "parent_ended"


def revoked(s, at, e):
    target = e["target"]
    hit = {
        handle for handle, binding in s["bindings"].items() if binding["ended"] is None
        and (hits(target, binding["pins"]["capability"], binding["pins"]["principal"])
             or target == {"binding": handle})}
    end_bindings(s, at, hit, "revoked", "authorization_revoked")
    if target == "all" or "binding" not in target:
        s["switches"][text(target)] = at


def revocation_lifted(s, at, e):
    del s["switches"][text(e["target"])]


def session_opened(s, at, e):
    names = ("environment principal rights tenant agent archetype mode configuration "
             "catalog_version stages expires_at").split()
    s["sessions"][e["session"]] = {**{name: e[name] for name in names}, "opened_by": at}


def session_closed(s, at, e):
    session = e["session"]
    del s["sessions"][session]
    for part in ("bindings", "runs"):
        s[part] = {k: v for k, v in s[part].items() if v["session"] != session}
    s["proposals"] = {
        k: v for k, v in s["proposals"].items() if v["asked"]["session"] != session}
    s["buckets"] = {
        k: v for k, v in s["buckets"].items()
        if json.loads(k)["scope"] != {"session": session}}
    for call in s["calls"].values():
        if call["session"] == session and call["overtaken"] is None:
            call["overtaken"] = "session_ended"


# Capabilities.

def capability_discovered(s, at, e):
    names = ("environment environment_generation catalog_version source origin_ref provider "
             "family last_observed_at expires_at").split()
    s["capabilities"][e["capability"]] = {
        **{name: e[name] for name in names}, "trust_status": "untrusted", "reviewed": False,
        "lifecycle": "discovered", "description": None, "evidence_refs": [],
        "changed_by": at}


def describe(capability, e):
    capability["trust_status"] = e["trust_status"]
    capability["description"] = {
        name: value for name, value in e.items()
        if name not in ("capability", "trust_status")}


def refer(capability, evidence):
    for one in evidence:
        if one not in capability["evidence_refs"]:
            capability["evidence_refs"].append(one)


def capability_described(s, at, e):
    capability = s["capabilities"][e["capability"]]
    describe(capability, e)
    capability.update(lifecycle="described", changed_by=at)


def capability_moved(s, at, e):
    capability = s["capabilities"][e["capability"]]
    capability.update(lifecycle=e["to"], catalog_version=e["catalog_version"], changed_by=at)
    refer(capability, e["evidence"])


def observed(capability, at, e):
    for name in "environment_generation catalog_version last_observed_at expires_at".split():
        capability[name] = e[name]
    capability["changed_by"] = at


def capability_observed(s, at, e):
    capability = s["capabilities"][e["capability"]]
    capability["description"]["execution_state"] = e["execution_state"]
    observed(capability, at, e)


def capability_revalidated(s, at, e):
    capability = s["capabilities"][e["capability"]]
    if e["described"]:
        describe(capability, e["described"])
    capability["lifecycle"] = "structurally_valid"
    observed(capability, at, e)
    refer(capability, e["evidence"])


def capability_reviewed(s, at, e):
    capability = s["capabilities"][e["capability"]]
    capability.update(trust_status=e["trust_status"], reviewed=True, changed_by=at)
    refer(capability, e["evidence"])


def evidence_recorded(s, at, e):
    names = "capability kind digest verdict confidence_permille fresh_until".split()
    s["evidence"][e["evidence"]] = {**{name: e[name] for name in names}, "recorded_by": at}


def binding_opened(s, at, e):
    if e["pins"]["approval"]:
        s["proposals"][e["pins"]["approval"]].update(status="consumed", changed_by=at)
    s["bindings"][e["binding"]] = {
        "session": e["session"], "parent": e["parent"], "route": e["route"],
        "pins": e["pins"], "ended": None, "opened_by": at, "pinned_by": at}
    if e["route"] == "late_bound":
        count(s, e["session"], "binds")


def binding_renewed(s, at, e):
    binding = s["bindings"][e["binding"]]
    binding["pins"] = {**binding["pins"], "lease_until": e["lease_until"]}
    binding["pinned_by"] = at


def binding_refreshed(s, at, e):
    s["bindings"][e["binding"]].update(pins=e["after"], pinned_by=at)


def binding_moved(s, at, e):
    end_bindings(s, at, {e["binding"]}, e["to"], e["trigger"])


# Calls.

def forget(s):
    known = lambda v: v["standing"] == "failed_before_effect" or isinstance(v["standing"], dict)
    s["effects"] = {
        k: v for k, v in s["effects"].items() if not known(v) or v["expires_at"] > s["now"]}


def call_intent(s, at, e):
    forget(s)
    session = s["sessions"][e["session"]]
    names = "session binding parent run capability effectful reserve".split()
    call = {
        **{name: e[name] for name in names}, "tenant": session["tenant"],
        "principal": session["principal"], "key": None, "standing": "running",
        "children_reserve": {}, "children_spent": {}, "children_running": 0,
        "overtaken": None, "started_at": s["now"], "started_by": at}
    take_budget(s, call)
    if e["idempotency"]:
        call["key"] = {
            "tenant": session["tenant"], "principal": session["principal"],
            "capability": e["capability"], "key": e["idempotency"]["key"]}
        s["effects"][text(call["key"])] = {
            "arguments": e["arguments"], "call": e["call"], "standing": "in_progress",
            "expires_at": e["idempotency"]["expires_at"]}
    if e["approval"]:
        proposal = s["proposals"][e["approval"]]
        if e["decision"]["requirement"] == "confirm_once":
            proposal["stands_for"] = e["binding"]
        else:
            proposal["status"] = "consumed"
        proposal["changed_by"] = at
    if e["run"]:
        s["runs"][e["run"]]["steps"] += 1
    s["calls"][e["call"]] = call


def settle_key(s, call, standing):
    if call["key"]:
        s["effects"][text(call["key"])]["standing"] = standing


def count_done(s, call):
    if call["run"] in s["runs"]:
        s["runs"][call["run"]]["done"] += 1


def call_outcome(s, at, e):
    call = s["calls"].pop(e["call"])
    settle_budget(s, call, e["spent"])
    if e["end"] == "succeeded":
        count_done(s, call)
    if e["end"] in ("failed_before_effect", "interrupted"):
        settle_key(s, call, "failed_before_effect")
    else:
        settle_key(s, call, {"ended": {"end": e["end"], "output": e["output"], "by": at}})


def call_uncertain(s, at, e):
    call = s["calls"][e["call"]]
    settle_budget(s, call, call["reserve"])
    settle_key(s, call, "unknown")
    call["standing"] = "uncertain"


def call_reconciled(s, at, e):
    call = s["calls"].pop(e["call"])
    if e["finding"] == "done":
        count_done(s, call)
    done = {"ended": {"end": "succeeded", "output": None, "by": at}}
    settle_key(s, call, done if e["finding"] == "done" else "failed_before_effect")


# Proposals, agents, runs.

def proposal_made(s, at, e):
    s["proposals"][e["proposal"]] = {
        "asked": e, "status": "pending", "stands_for": None, "changed_by": at}
    count(s, e["session"], "proposals")


def answered(status):
    def apply(s, at, e):
        s["proposals"][e["proposal"]].update(status=status, changed_by=at)
    return apply


def agent_registered(s, at, e):
    s["agents"][e["agent"]] = {name: value for name, value in e.items() if name != "agent"}


def workspace_registered(s, at, e):
    s["workspaces"][e["workspace"]] = e["archetype"]


def run_created(s, at, e):
    s["runs"][e["run"]] = {
        "session": e["session"], "workspace": e["workspace"], "provider": e["provider"],
        "status": "created", "steps": 0, "done": 0}


def run_moved(s, at, e):
    s["runs"][e["run"]]["status"] = e["to"]


APPLY = {
    **{name: function for name, function in globals().items() if callable(function)},
    "host_started": nothing, "operation_served": nothing, "bind_refused": nothing,
    "call_refused": nothing, "call_decided": nothing, "hook_vetoed": nothing,
    "screening_withheld": nothing, "proposal_approved": answered("approved"),
    "proposal_denied": answered("denied"), "proposal_expired": answered("expired"),
    "proposal_voided": answered("voided"),
}


def as_stored(s):
    """The state in the order and form in which the store prints it: nothing is sorted but
    by the reader, who compares maps as maps and keys that are objects as pairs."""
    pairs = lambda part: [[json.loads(key), value] for key, value in s[part].items()]
    out = dict(s)
    for part in ("switches", "effects", "buckets"):
        out[part] = pairs(part)
    known = lambda v: v["standing"] == "failed_before_effect" or isinstance(v["standing"], dict)
    out["forgettable"] = [
        [value["expires_at"], json.loads(key)]
        for key, value in s["effects"].items() if known(value)]
    return out


if __name__ == "__main__":
    exported = sys.stdin.read()
    lines = exported.split("\n")
    if lines.pop() != "":
        raise SystemExit("the last line is cut")
    json.dump(as_stored(rebuild(lines)), sys.stdout)
