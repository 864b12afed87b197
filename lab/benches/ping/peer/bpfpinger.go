// Sends probes by bpfpinger and prints what it says of them.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	ebppinger "github.com/chenjiandongx/bpfpinger"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: peer TARGET[,TARGET] COUNT INTERVAL_MS")
		os.Exit(2)
	}
	count, _ := strconv.Atoi(os.Args[2])
	interval, _ := strconv.Atoi(os.Args[3])
	pinger, err := ebppinger.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	request := ebppinger.Request{Count: count, Interval: interval, Timeout: 1000}
	requests := []ebppinger.Request{}
	for _, target := range strings.Split(os.Args[1], ",") {
		request.Target = target
		requests = append(requests, request)
	}
	var loss, least, mean, most float64
	for at, answer := range pinger.CallMulti(requests...) {
		loss += answer.PkgLoss / float64(len(requests))
		mean += answer.RTTMean / float64(len(requests))
		if at == 0 || answer.RTTMin < least {
			least = answer.RTTMin
		}
		if answer.RTTMax > most {
			most = answer.RTTMax
		}
	}
	fmt.Printf("%v %v %v %v\n", loss, least, mean, most)
	os.Exit(0)
}
