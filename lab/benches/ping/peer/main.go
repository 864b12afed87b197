// Sends probes by bpfpinger and prints what it says of them.
package main

import (
	"fmt"
	"os"
	"strconv"

	ebppinger "github.com/chenjiandongx/bpfpinger"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: peer TARGET COUNT INTERVAL_MS")
		os.Exit(2)
	}
	count, _ := strconv.Atoi(os.Args[2])
	interval, _ := strconv.Atoi(os.Args[3])
	pinger, err := ebppinger.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	request := ebppinger.Request{Target: os.Args[1], Count: count, Interval: interval, Timeout: 1000}
	answer := pinger.Call(request)
	fmt.Printf("%v %v %v %v\n", answer.PkgLoss, answer.RTTMin, answer.RTTMean, answer.RTTMax)
	os.Exit(0)
}
