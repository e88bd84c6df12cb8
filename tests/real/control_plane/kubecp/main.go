// SPDX-License-Identifier: Apache-2.0
//
// The programs of a Kubernetes control plane, kubectl and kubeadm, as one: kubecp kube-apiserver --flag ...
// Built once, they share most of what they are made of.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/cmd"
)

var programs = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": manager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubectl":                 cmd.NewDefaultKubectlCommand,
	"kubeadm":                 func() *cobra.Command { return kubeadm.NewKubeadmCommand(os.Stdin, os.Stdout, os.Stderr) },
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kubecp kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|kubeadm [flags]")
		os.Exit(64)
	}
	// kubectl reads the arguments of the process while it is made.
	name := os.Args[1]
	os.Args = os.Args[1:]
	program := programs[name]()
	program.SetArgs(os.Args[1:])
	os.Exit(cli.Run(program))
}
