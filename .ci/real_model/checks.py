"""What must hold when `rag` works with a real server and a real model.

The tiny model talks nonsense, so nothing here depends on what it says. What is
checked is that every end is typed and bounded, and that a stream which is
stopped in its middle can be gone on with.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from demands import a_refund
from gate import Gate
from terminal import Terminal

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parent.parent / "examples" / "support"

# The longest that anything here may take, in seconds.
PATIENCE = 60

# The exit status that belongs to how a run ended.
EXITS = {"completed": 0, "failed": 1, "suspended": 3, "budget_exceeded": 4}

# The most tokens that a model call can be about: the context of the server.
CONTEXT = 4096

REFUND = "Order A-1042 never arrived, please refund it"

PLAN = """graph talk {
  channel messages messages
  start reply
  node reply { kind agent  model "default"  prompt "Answer in one short sentence."  next END }
}
"""


class Server:
    """The model behind HTTP."""

    def __init__(self, model, name, folder):
        self.log = folder / "server.log"
        with open(self.log, "wb") as log:
            serve = [sys.executable, str(HERE / "serve.py"), str(model), name]
            self._process = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=log)
        self.address = self._process.stdout.readline().decode().strip()
        expect(self.address, "the server did not start")
        self._await_health()

    def _await_health(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(self.address + "/health", timeout=5):
                    return
            except urllib.error.HTTPError:
                time.sleep(0.1)
        raise AssertionError("the server is not healthy in time")

    @property
    def place(self):
        host, port = re.fullmatch(r"http://([^:/]+):(\d+)", self.address).groups()
        return host, int(port)

    def stop(self):
        """It ignores SIGTERM."""
        self._process.kill()
        self._process.wait()


class Desk:
    """A folder to work in, and the program in it."""

    def __init__(self, rag, folder, name, url):
        self.rag = rag
        self.folder = folder
        self.model = f"default=openai-compatible:{name}@{url}"
        shutil.copytree(EXAMPLE, folder / "support", ignore=shutil.ignore_patterns(".rustagents"))
        (folder / "talk.rag").write_text(PLAN)
        models = f'[models]\ndefault = "{self.model.removeprefix("default=")}"\n'
        (folder / "rustagents.toml").write_text(models)

    def start(self, *arguments):
        return subprocess.Popen(
            [self.rag, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments):
        """The exit status and the object of a command, which ends in time."""
        process = self.start(*arguments, "--json")
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"`rag {' '.join(arguments)}` hangs") from None
        expect(process.returncode >= 0, f"it died: {err.decode()}")
        return process.returncode, json.loads(out)

    def ask(self, target, thread, text):
        arguments = ["run", target, "--thread", thread, "--model", self.model]
        return self.run(*arguments, "--input", text)

    def begin(self, thread):
        """A run whose answer has begun, and stands still behind the gate."""
        process = self.start(
            "run", "talk.rag", "--thread", thread, "--model", self.model, "--input", "hi", "--events"
        )
        for line in process.stdout:
            event = json.loads(line)
            if event.get("event") == "text.delta":
                return process
        raise AssertionError(f"no answer began: {process.stderr.read().decode()}")


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def ended_well_formed(exit_status, said):
    """Whatever a run came to, it is told consistently and within bounds."""
    expect(EXITS.get(said["status"]) == exit_status, f"exit {exit_status} with {said}")
    error = said["error"]
    expect((error is not None) == (exit_status in (1, 4)), f"exit {exit_status} with {said}")
    expect(error is None or re.fullmatch(r"RAG\d{4}", error["code"]), f"no code in {said}")
    usage = said["usage"]
    calls = usage["model_calls"]
    expect(1 <= calls <= 200, f"{calls} model calls in {said}")
    for kind in ("input_tokens", "output_tokens"):
        expect(0 <= usage[kind] <= calls * CONTEXT, f"{kind} out of bounds in {said}")


def doctor(desk):
    status, said = desk.run("doctor")
    model = next(check for check in said["checks"] if check["name"] == "model default")
    expect((status == 0) == said["ok"], f"exit {status} with {said}")
    return model


def the_server_is_reachable(desk):
    model = doctor(desk)
    expect(model["status"] == "ok", f"the doctor says {model}")


def one_agent_completes(desk):
    status, said = desk.ask("talk.rag", "talk", "Say something.")
    ended_well_formed(status, said)
    expect(status == 0, f"exit {status} with {said}")
    expect(said["output"], f"no answer in {said}")
    expect(said["usage"]["output_tokens"] > 0, f"no tokens in {said}")


def the_conversation_goes_on(desk):
    _, first = desk.ask("talk.rag", "longer", "Say something.")
    status, second = desk.ask("talk.rag", "longer", "And more.")
    expect(status == 0, f"exit {status} with {second}")
    tokens = [said["usage"]["input_tokens"] for said in (first, second)]
    expect(tokens[0] < tokens[1], f"{tokens}: the second question has no history")


def the_support_desk_ends_in_bounds(desk):
    status, said = desk.ask("support", "support", REFUND)
    ended_well_formed(status, said)
    if desk.is_nonsense:
        expect(status in (1, 4), f"nonsense is no success: {said}")
    again, told = desk.run("resume", "support")
    expect((again, told["status"]) == (status, said["status"]), f"a resume says {told}")


def a_refund_is_approved_and_found_again_after_the_terminal_is_gone(desk):
    desk.gate.insist(a_refund)
    where = ["--store", "sqlite:story.db"]
    terminal = Terminal(desk.folder, [desk.rag, "chat", "support", "--thread", "story", *where,
                                      "--model", desk.model])
    terminal.see("> ")
    terminal.say(REFUND)
    terminal.see("yes, or no with a reason:")
    terminal.shows("12900 cents for A-1042")
    desk.gate.hold()
    terminal.say("yes")
    expect(desk.gate.await_held(PATIENCE), "nobody is answered")
    # The money is paid back, and the clerk speaks of it, when the terminal goes.
    terminal.hang_up()
    desk.gate.release()
    _, said = desk.run("threads", *where)
    expect([thread["thread"] for thread in said["threads"]] == ["story"], f"{said}")
    status, said = desk.run("resume", "story", *where, "--model", desk.model)
    expect((status, said["output"]) == (0, "It is done, and you will hear from us."), f"{said}")
    calls = said["usage"]["tool_calls"]
    expect(calls == 1, f"{calls} calls of tools in {said}")
    desk.gate.insist(None)


def tools_are_offered_and_end_in_bounds(desk):
    for template in ("agent", "approval"):
        made, _ = desk.run("new", template, "--template", template)
        expect(made == 0, f"no new folder: exit {made}")
        status, said = desk.ask(template, template, "Please order 20 desk lamps")
        ended_well_formed(status, said)


def an_interrupted_answer_goes_on(desk):
    desk.gate.hold()
    process = desk.begin("interrupted")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    expect(process.returncode == 130, f"exit {process.returncode}: {err.decode()}")
    desk.gate.release()
    status, said = desk.run("resume", "interrupted")
    ended_well_formed(status, said)
    expect(status == 0 and said["output"], f"exit {status} with {said}")


def an_answer_that_is_cut_off_is_a_coded_error(desk):
    desk.gate.hold()
    process = desk.begin("cut")
    desk.server.stop()
    desk.gate.cut()
    out, _ = process.communicate(timeout=PATIENCE)
    said = json.loads(out.splitlines()[-1])
    expect((process.returncode, code(said)) == (1, "RAG0501"), f"{said}")


def a_server_that_is_gone_is_a_coded_error(desk):
    status, said = desk.ask("talk.rag", "gone", "Is anybody there?")
    expect((status, code(said)) == (1, "RAG0501"), f"exit {status} with {said}")
    model = doctor(desk)
    expect(model["status"] == "error", f"the doctor says {model}")


def code(said):
    return (said["error"] or {}).get("code")


CHECKS = [
    the_server_is_reachable,
    one_agent_completes,
    the_conversation_goes_on,
    the_support_desk_ends_in_bounds,
    a_refund_is_approved_and_found_again_after_the_terminal_is_gone,
    tools_are_offered_and_end_in_bounds,
    an_interrupted_answer_goes_on,
    an_answer_that_is_cut_off_is_a_coded_error,
    a_server_that_is_gone_is_a_coded_error,
]


def main(rag, model, name, folder):
    # A key of whoever runs this is no business of the server.
    os.environ.pop("OPENAI_API_KEY", None)
    server = Server(model, name, folder)
    try:
        gate = Gate(*server.place)
        desk = Desk(rag, folder, name, gate.url)
        desk.gate, desk.server, desk.is_nonsense = gate, server, name == "tiny"
        for check in CHECKS:
            begun = time.monotonic()
            check(desk)
            took = time.monotonic() - begun
            print(f"ok  {check.__name__.replace('_', ' ')}  ({took:.1f}s)", flush=True)
    except BaseException:
        tail = server.log.read_text(errors="replace").splitlines()[-20:]
        print("the server's log ends with:", *tail, sep="\n  ", file=sys.stderr)
        raise
    finally:
        server.stop()


if __name__ == "__main__":
    program, model, name, folder = sys.argv[1:]
    main(program, pathlib.Path(model), name, pathlib.Path(folder))
