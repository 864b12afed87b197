// Sends probes by pinger and prints what it says of them.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/chenjiandongx/pinger"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: peer TARGET COUNT INTERVAL_MS")
		os.Exit(2)
	}
	count, _ := strconv.Atoi(os.Args[2])
	interval, _ := strconv.Atoi(os.Args[3])
	options := pinger.DefaultICMPPingOpts()
	options.Interval = func() time.Duration { return time.Duration(interval) * time.Millisecond }
	options.PingTimeout = time.Second
	options.PingCount = count
	options.FailOver = 20
	options.MaxConcurrency = 20
	answers, err := pinger.ICMPPing(options, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, answer := range answers {
		fmt.Printf("%v %v %v %v\n", answer.PktLossRate, answer.Best, answer.Mean, answer.Worst)
	}
}
