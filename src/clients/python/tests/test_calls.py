"""Retries, keys and errors of flows, without a socket."""

import json

import pytest

from gloaming import ConnectionFailed, NotFoundError, RateLimitError
from gloaming.calls import Caller
from gloaming.codes import BY_CODE, DatabaseNotFound
from gloaming.events import EventReader
from gloaming.flows import SqlSession, call, results, watch
from gloaming.operations import OPERATIONS
from gloaming.wire import Emit, NoAnswer, Open, Read, Response, Send, Sleep, Stream, Wait


def play(flow, outcomes):
    """Runs a flow with these outcomes. Returns its requests, pauses, items and result."""
    requests, pauses, items, waiting = [], [], [], list(outcomes)
    outcome = None
    try:
        while True:
            effect = flow.send(outcome)
            outcome = None
            if isinstance(effect, Sleep):
                pauses.append(effect.seconds)
            elif isinstance(effect, Emit):
                items.append(effect.item)
            else:
                if isinstance(effect, (Send, Open)):
                    requests.append(effect.request)
                outcome = waiting.pop(0)
    except StopIteration as end:
        assert waiting == []
        return requests, pauses, items, end.value


def ok(value):
    return Response(200, {}, json.dumps(value).encode())


def refused(status, code, *, retryable=False, after=None):
    headers = {"service-error-type": code, "service-retryable": str(retryable).lower()}
    body = {"ok": False, "error": {"code": code, "message": "No.", "param": "database", "details": {"n": 1}}}
    return Response(status, {**headers, **({"retry-after": after} if after else {})}, json.dumps(body).encode())


def test_a_post_is_retried_with_the_same_idempotency_key():
    answers = [NoAnswer(OSError("gone")), refused(503, "server_stopping", retryable=True), ok({"a": 1})]
    requests, pauses, _, result = play(Caller(60).post("/v1/x", {"b": 2}), answers)
    assert result == {"a": 1}
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1
    assert len(requests) == 3 and len(pauses) == 2


def test_retry_after_sets_the_pause():
    answers = [refused(429, "rate_limit_exceeded", retryable=True, after="7"), ok({})]
    assert play(Caller(60).get("/v1/x"), answers)[1] == [7.0]


def test_a_pause_beyond_the_patience_raises_the_refusal():
    answers = [refused(429, "rate_limit_exceeded", retryable=True, after="90")]
    with pytest.raises(RateLimitError) as caught:
        play(Caller(60).get("/v1/x"), answers)
    assert caught.value.code == "rate_limit_exceeded" and caught.value.is_retryable


def test_a_permanent_refusal_is_not_retried():
    with pytest.raises(DatabaseNotFound) as caught:
        play(Caller(60).post("/v1/x", {}), [refused(404, "database_not_found")])
    error = caught.value
    assert isinstance(error, NotFoundError)
    assert (error.code, error.status, error.param, error.details) == ("database_not_found", 404, "database", {"n": 1})


def test_no_answer_at_all_is_an_exception_of_its_own():
    with pytest.raises(ConnectionFailed) as caught:
        play(Caller(0.1).get("/v1/x"), [NoAnswer(OSError("refused"))])
    assert isinstance(caught.value.__cause__, OSError)


def test_any_operation_is_called_by_its_id():
    for operation, (method, path) in OPERATIONS.items():
        filled = {name[1:-1]: "a/../b" for name in path.split("/") if name.startswith("{")}
        asked = (filled, {"limit": 2, "is_new": True, "cursor": None}, {"a": 1}, {}, None)
        answer = Response(200, {"content-type": "application/json"}, b'{"ok": true}')
        [request], _, _, result = play(call(Caller(60), operation, *asked), [answer])
        assert result == {"ok": True} and request.method == method
        assert request.query == {"limit": "2", "is_new": "true"} and request.body == b'{"a": 1}'
        assert "{" not in request.path and request.path.count("/") == path.count("/")
        assert ("Idempotency-Key" in request.headers) == (method == "POST")
    _, _, _, text = play(call(Caller(60), "runs.list", {}, {}, None, {}, None), [Response(200, {}, b"bytes")])
    assert text == b"bytes"
    with pytest.raises(ValueError):
        play(call(Caller(60), "runs.unknown", {}, {}, None, {}, None), [])


def test_every_code_has_one_class():
    assert all(each.code == code for code, each in BY_CODE.items())
    assert len({each.__name__ for each in BY_CODE.values()}) == len(BY_CODE)


def event(number, status):
    data = {"type": f"run.{status}", "timestamp": "t", "data": {"run_id": "run_1", "status": status}}
    return f"id: {number}\nevent: run.{status}\ndata: {json.dumps(data)}\n\n".encode()


def test_events_are_parsed_from_chunks_of_any_size():
    bytes_ = event(1, "queued") + b": still there\n\n" + event(2, "running")
    for size in (1, 7, 1000):
        reader = EventReader()
        chunks = [bytes_[at : at + size] for at in range(0, len(bytes_), size)]
        assert [each.status for chunk in chunks for each in reader.feed(chunk)] == ["queued", "running"]
        assert reader.last_id == "2"


def test_watch_reconnects_behind_the_last_event():
    stream = Stream(200, {}, None)
    first = [stream, event(1, "queued"), event(2, "running")[:20], NoAnswer(OSError("gone"))]
    second = [stream, event(2, "running"), event(3, "completed")]
    between = ok({"data": {"id": "run_1", "status": "running"}})
    requests, _, items, _ = play(watch(Caller(60), "run_1"), [*first, between, *second])
    assert [each.status for each in items] == ["queued", "running", "completed"]
    opened = [request.headers.get("Last-Event-ID") for request in requests if "events" in request.path]
    assert opened == [None, "1"]


def test_results_follow_cursors_before_the_run_has_ended():
    row = {"query_index": 0, "query_id": "a", "candidates": []}
    running = {"id": "run_1", "status": "running", "endpoint": "homology.batch_search"}
    page = {"data": [row], "has_more": True, "next_cursor": "c1"}
    empty = {"data": [], "has_more": True, "next_cursor": None}
    last = {"data": [row], "has_more": False, "next_cursor": None}
    done = {**running, "status": "completed"}
    answers = [{"data": running}, {"data": running}, page, {"data": running}, empty, {"data": done}, last]
    requests, _, items, _ = play(results(Caller(60), "run_1", ["MK"]), [ok(answer) for answer in answers])
    assert [hits.query_id for hits in items] == ["a", "a"]
    cursors = [request.query.get("cursor") for request in requests if "results" in request.path]
    assert cursors == [None, "c1", "c1"]


MADE = ok({"data": {"sql_credential": {"id": "sqlc_1"}, "sql_engine_user": "user", "password": "word"}})


@pytest.fixture
def sql_session(monkeypatch):
    monkeypatch.delenv("GLOAMING_SQL_USER", raising=False)
    return SqlSession(None)


def end_of(flow, outcome):
    """Sends the last outcome and returns the result of the flow."""
    with pytest.raises(StopIteration) as ended:
        flow.send(outcome)
    return ended.value.value


def test_concurrent_statements_share_one_credential_request(sql_session):
    first, second = (sql_session.credential(Caller(0)) for _ in range(2))
    assert isinstance(next(first), Send)
    waiting = next(second)
    assert isinstance(waiting, Wait) and not waiting.future.done()
    assert end_of(first, MADE) == ("user", "word")
    assert end_of(second, waiting.future.result()) == ("user", "word")
    assert play(sql_session.credential(Caller(0)), [])[3] == ("user", "word")


def test_a_failed_credential_request_fails_its_waiters_but_not_later_statements(sql_session):
    first, second = (sql_session.credential(Caller(0)) for _ in range(2))
    next(first)
    waiting = next(second)
    with pytest.raises(ConnectionFailed):
        first.send(NoAnswer(OSError("refused")))
    with pytest.raises(ConnectionFailed):
        second.send(waiting.future.result())
    assert play(sql_session.credential(Caller(0)), [MADE])[3] == ("user", "word")


def test_a_waiter_makes_the_credential_if_its_maker_is_cancelled(sql_session):
    first, second = (sql_session.credential(Caller(0)) for _ in range(2))
    next(first)
    waiting = next(second)
    first.close()
    assert isinstance(second.send(waiting.future.result()), Send)
    assert end_of(second, MADE) == ("user", "word")
