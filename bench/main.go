// The benchmark of notifyd: a module of its own, so that what it measures
// notifyd against never becomes part of notifyd. `make bench` and `make
// bench-full` in the root folder start it; docs/performance.md explains it.
//
// One program plays every part but notifyd: run leads, and starts itself again
// as the client (load), as a peer (peer) and as the edge without a database
// (edge).
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/notifyd/notifyd/bench/floor"
	"github.com/notifyd/notifyd/bench/load"
	"github.com/notifyd/notifyd/bench/peer"
	"github.com/notifyd/notifyd/bench/run"
	"github.com/notifyd/notifyd/bench/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say which part: run, load, peer or edge")
	}
	announce := func(addr string) { fmt.Fprintf(os.Stderr, target.Ready, addr) }
	switch part, rest := args[0], args[1:]; {
	case part == "run":
		return lead(ctx, rest)
	case part == "load":
		return send(rest)
	case part == "edge":
		return floor.ServeEdge(ctx, announce)
	case part == "peer" && len(rest) == 2:
		return peer.Serve(ctx, peer.Options{Name: rest[0], DatabaseURL: rest[1], Listen: "127.0.0.1:0", Ready: announce})
	}
	return fmt.Errorf("there is no part %s: run, load, peer NAME URL or edge", strings.Join(args, " "))
}

// lead runs the benchmark.
func lead(ctx context.Context, args []string) error {
	o := run.Options{Progress: os.Stderr}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&o.Source, "source", ".", "notifyd's repository")
	flags.StringVar(&o.Before, "before", "", "another build of notifyd, to be measured beside this one")
	flags.StringVar(&o.Folder, "folder", "/var/tmp", "where databases are made; on a disk")
	flags.StringVar(&o.Cache, "cache", "/var/tmp/notifyd-bench", "where the settled orders are kept between runs")
	flags.IntVar(&o.Rounds, "rounds", 5, "repetitions of each measurement")
	flags.DurationVar(&o.Warm, "warm", 700*time.Millisecond, "warm-up of each measurement")
	flags.DurationVar(&o.Measure, "measure", 2*time.Second, "length of each measurement")
	flags.IntVar(&o.Messages, "messages", 60_000, "unique messages of a kind; a measurement ends when they do")
	flags.IntVar(&o.Long, "long", 200_000, "messages of the run that watches memory")
	flags.IntVar(&o.Settled, "settled", 500_000, "settled orders when the whole set is not there")
	flags.BoolVar(&o.Full, "full", false, "the whole matrix, and five million settled orders")
	only := flags.String("only", "", "regular expression of the groups to run")
	measurements := flags.String("measurements", "", "regular expression of their measurements to run")
	jsonFile := flags.String("json", "bin/bench.json", "file for every figure")
	docs := flags.String("docs", "", "folder whose performance.md and performance.svg are written; empty: none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if *only != "" {
		if o.Only, err = regexp.Compile(*only); err != nil {
			return err
		}
	}
	if *measurements != "" {
		if o.Measurements, err = regexp.Compile(*measurements); err != nil {
			return err
		}
	}
	if o.Source, err = filepath.Abs(o.Source); err != nil {
		return err
	}
	if o.Self, err = os.Executable(); err != nil {
		return err
	}
	o.Binary = filepath.Join(o.Source, "bin", "notifyd")
	book, err := run.Run(ctx, o)
	// What was measured before a failure is kept as well.
	book.Print(os.Stdout)
	if failed := book.Write(*jsonFile); failed != nil && err == nil {
		err = failed
	}
	// A part of the figures is no document.
	if err == nil && *docs != "" && o.Only == nil && o.Measurements == nil {
		err = book.Publish(*docs)
	}
	return err
}

// send is the client.
func send(args []string) error {
	var p load.Plan
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	addrs := flags.String("addrs", "", "host:port of the servers, with commas")
	file := flags.String("pool", "", "file of requests")
	flags.IntVar(&p.Conns, "conns", 1, "connections")
	flags.DurationVar(&p.Warm, "warm", 0, "warm-up")
	flags.DurationVar(&p.Measure, "measure", time.Second, "length")
	flags.Float64Var(&p.Rate, "rate", 0, "requests per second; 0: as fast as they are answered")
	flags.BoolVar(&p.Cycle, "cycle", false, "begin anew after the last request")
	flags.IntVar(&p.Watch, "watch", 0, "process whose memory is watched")
	servers := flags.String("spent", "", "name=process,... whose processor time is shown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p.Servers = map[string]int{}
	for _, s := range strings.FieldsFunc(*servers, func(r rune) bool { return r == ',' }) {
		name, pid, _ := strings.Cut(s, "=")
		var err error
		if p.Servers[name], err = strconv.Atoi(pid); err != nil {
			return fmt.Errorf("-spent %s: %w", s, err)
		}
	}
	p.Addrs = strings.Split(*addrs, ",")
	var err error
	if p.Requests, err = load.ReadPool(*file); err != nil {
		return err
	}
	result, err := load.Run(p)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
