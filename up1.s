	.file	"<string>"
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
.LCPI0_0:
	.long	0
	.long	0
	.long	1
	.long	1
	.long	2
	.long	2
	.long	3
	.long	3
	.long	4
	.long	4
	.long	5
	.long	5
	.long	6
	.long	6
	.long	7
	.long	7
.LCPI0_1:
	.long	8
	.long	8
	.long	9
	.long	9
	.long	10
	.long	10
	.long	11
	.long	11
	.long	12
	.long	12
	.long	13
	.long	13
	.long	14
	.long	14
	.long	15
	.long	15
	.section	.rodata.cst16,"aM",@progbits,16
.LCPI0_2:
	.byte	0
	.byte	0
	.byte	1
	.byte	1
	.byte	2
	.byte	2
	.byte	3
	.byte	3
	.byte	4
	.byte	4
	.byte	5
	.byte	5
	.byte	6
	.byte	6
	.byte	7
	.byte	7
.LCPI0_3:
	.byte	8
	.byte	8
	.byte	9
	.byte	9
	.byte	10
	.byte	10
	.byte	11
	.byte	11
	.byte	12
	.byte	12
	.byte	13
	.byte	13
	.byte	14
	.byte	14
	.byte	15
	.byte	15
	.text
	.p2align	4
	.type	k0,@function
k0:
	movq	(%rdi), %rax
	movq	8(%rdi), %rcx
	cmpq	%rdx, %rsi
	jge	.LBB0_5
	movw	$4095, %di
	kmovd	%edi, %k1
	vpmovsxbd	.LCPI0_2(%rip), %zmm0
	vpmovsxbd	.LCPI0_3(%rip), %zmm1
	movw	$255, %di
	kmovd	%edi, %k2
	.p2align	4
.LBB0_2:
	imulq	$112, %rsi, %rdi
	xorl	%r8d, %r8d
	.p2align	4
.LBB0_3:
	vmovups	64(%rax,%rdi), %zmm2 {%k1} {z}
	vmovups	(%rax,%rdi), %zmm3
	imulq	$56, %r8, %r9
	addq	%rdi, %r9
	vpxor	%xmm4, %xmm4, %xmm4
	vpermps	%zmm3, %zmm0, %zmm4
	vpermps	%zmm3, %zmm1, %zmm3
	vmovups	%zmm4, (%rcx,%r9,4)
	vmovups	%zmm3, 64(%rcx,%r9,4)
	vpxor	%xmm3, %xmm3, %xmm3
	vpermps	%zmm2, %zmm0, %zmm3
	vpermps	%zmm2, %zmm1, %zmm2
	vmovups	%zmm3, 128(%rcx,%r9,4)
	vmovups	%zmm2, 192(%rcx,%r9,4) {%k2}
	incq	%r8
	cmpq	$2, %r8
	jl	.LBB0_3
	incq	%rsi
	cmpq	%rdx, %rsi
	jl	.LBB0_2
.LBB0_5:
	vzeroupper
	retq
.Lfunc_end0:
	.size	k0, .Lfunc_end0-k0

	.globl	body
	.p2align	4
	.type	body,@function
body:
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-64, %rsp
	subq	$64, %rsp
	movq	%rsi, %rax
	movq	(%rdi), %rcx
	movq	%rcx, (%rsp)
	movq	8(%rdi), %rcx
	movq	%rcx, 8(%rsp)
	leaq	k0(%rip), %rsi
	movq	%rsp, %rdx
	movl	$14336, %ecx
	movq	%rax, %rdi
	callq	*(%rax)
	xorl	%eax, %eax
	movq	%rbp, %rsp
	popq	%rbp
	retq
.Lfunc_end1:
	.size	body, .Lfunc_end1-body

	.section	".note.GNU-stack","",@progbits
