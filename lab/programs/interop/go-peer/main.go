// go-zookeeper's Lock as a peer: it executes commands line by line, like JavaPeer.java. An owner is a goroutine with a Lock
// of its own for each path, and all of them share one session.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

var (
	conn  *zk.Conn
	voice sync.Mutex
)

type owner struct {
	commands chan []string
	locks    map[string]*zk.Lock
}

type silent struct{}

func (silent) Printf(string, ...interface{}) {}

func main() {
	timeoutMs, err := strconv.Atoi(os.Args[2])
	must(err)
	var events <-chan zk.Event
	conn, events, err = zk.Connect(strings.Split(os.Args[1], ","), time.Duration(timeoutMs)*time.Millisecond, zk.WithLogger(silent{}))
	must(err)
	for event := range events {
		if event.State == zk.StateHasSession {
			break
		}
	}
	say(map[string]interface{}{"event": "ready"})
	owners := map[string]*owner{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Split(in.Text(), " ")
		one := owners[words[1]]
		if one == nil {
			one = &owner{make(chan []string, 100), map[string]*zk.Lock{}}
			owners[words[1]] = one
			go one.serve()
		}
		one.commands <- words
	}
	conn.Close()
}

func (one *owner) serve() {
	for words := range one.commands {
		id, _ := strconv.Atoi(words[0])
		value, err := one.run(words[2], words[3:])
		if err != nil {
			say(map[string]interface{}{"id": id, "error": err.Error()})
		} else {
			say(map[string]interface{}{"id": id, "value": value})
		}
	}
}

func (one *owner) run(verb string, args []string) (interface{}, error) {
	lock := one.lock(args[1])
	switch verb {
	case "acquire":
		err := lock.Lock()
		return nodeOf(lock), err
	case "release":
		return nil, lock.Unlock()
	case "work":
		rounds, err := strconv.Atoi(args[3])
		must(err)
		for round := 0; round < rounds; round++ {
			if err := lock.Lock(); err != nil {
				return nil, err
			}
			if err := count(args[2], nodeOf(lock)); err != nil {
				return nil, err
			}
			if err := lock.Unlock(); err != nil {
				return nil, err
			}
		}
		return rounds, nil
	}
	return nil, fmt.Errorf("no verb %s", verb)
}

func (one *owner) lock(path string) *zk.Lock {
	if one.locks[path] == nil {
		one.locks[path] = zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
	}
	return one.locks[path]
}

// The Lock shows its znode to nobody.
func nodeOf(lock *zk.Lock) string {
	return reflect.ValueOf(lock).Elem().FieldByName("lockPath").String()
}

func count(folder string, node string) error {
	before, err := os.ReadFile(folder + "/count")
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(string(before))
	if err != nil {
		return err
	}
	_, stat, err := conn.Exists(node)
	if err != nil {
		return err
	}
	if err := os.WriteFile(folder+"/count", []byte(strconv.Itoa(number+1)), 0o644); err != nil {
		return err
	}
	grants, err := os.OpenFile(folder+"/grants", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer grants.Close()
	_, err = fmt.Fprintf(grants, "%d go\n", stat.Czxid)
	return err
}

func say(answer map[string]interface{}) {
	line, err := json.Marshal(answer)
	must(err)
	voice.Lock()
	defer voice.Unlock()
	fmt.Println(string(line))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
