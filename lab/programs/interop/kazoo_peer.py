"""kazoo as a peer: it executes commands line by line, like JavaPeer.java. An owner is a thread."""
import json
import queue
import sys
import threading

import kazoo
from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock


class CuratorLock(Lock):
    """kazoo's Lock under Curator's name: <32 hex>-lock-<sequence>."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


KINDS = {
    "kazoo": lambda path: client.Lock(path, "kazoo"),
    "kazoo-respecting-ours": lambda path: client.Lock(path, "kazoo", extra_lock_patterns=["-lock-"]),
    "kazoo-under-our-name": lambda path: CuratorLock(client, path, "kazoo"),
}

locks = {}
owners = {}
voice = threading.Lock()


def say(answer):
    with voice:
        print(json.dumps(answer), flush=True)


def lock_of(owner, kind, path):
    key = (owner, kind, path)
    if key not in locks:
        locks[key] = KINDS[kind](path)
    return locks[key]


def acquire(owner, kind, path, timeout_ms):
    timeout = None if int(timeout_ms) < 0 else int(timeout_ms) / 1000
    lock = lock_of(owner, kind, path)
    try:
        lock.acquire(timeout=timeout)
    except Exception as error:
        if type(error).__name__ == "LockTimeout":
            return None
        raise
    return path + "/" + lock.node


def release(owner, kind, path):
    lock_of(owner, kind, path).release()


def participants(owner, kind, path):
    return lock_of(owner, kind, path).contenders()


def work(owner, kind, path, folder, rounds):
    lock = lock_of(owner, kind, path)
    for _ in range(int(rounds)):
        with lock:
            with open(folder + "/count") as file:
                count = int(file.read())
            grant = client.exists(path + "/" + lock.node).czxid
            with open(folder + "/count", "w") as file:
                file.write(str(count + 1))
            with open(folder + "/grants", "a") as file:
                file.write("%d kazoo\n" % grant)
    return int(rounds)


VERBS = {"acquire": acquire, "release": release, "participants": participants, "work": work}


def serve(owner, commands):
    while True:
        number, verb, args = commands.get()
        try:
            say({"id": number, "value": VERBS[verb](owner, *args)})
        except Exception as error:
            say({"id": number, "error": "%s: %s" % (type(error).__name__, error)})


def main():
    say({"event": "ready", "version": kazoo.__version__})
    for line in sys.stdin:
        number, owner, verb, *args = line.rstrip("\n").split(" ")
        if owner not in owners:
            owners[owner] = queue.Queue()
            threading.Thread(target=serve, args=(owner, owners[owner]), daemon=True).start()
        owners[owner].put((int(number), verb, args))
    client.stop()


client = KazooClient(sys.argv[1], timeout=int(sys.argv[2]) / 1000)
client.start()
main()
