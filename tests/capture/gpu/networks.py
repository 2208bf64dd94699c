# SPDX-License-Identifier: Apache-2.0
"""Networks and numerical libraries over PyTorch, with small configurations and random weights, forward, backward and a step of training: programs of
programs.py.
"""
from special import tried


def torch_():
    import torch
    torch.manual_seed(3)
    return torch


def trained(torch, model, *inputs, of=None, **named):
    """Forward, backward, one step."""
    model = model.cuda()
    out = model(*inputs, **named)
    out = of(out) if of else out
    out.float().square().mean().backward()
    torch.optim.AdamW(model.parameters(), lr=1e-3).step()
    torch.cuda.synchronize()


def hugging(kind, config, **settings):
    import transformers
    return getattr(transformers, kind)(getattr(transformers, config)(**settings))


SMALL = dict(vocab_size=199, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)


def transformers_encoders():
    torch = torch_()
    ids = torch.randint(0, 199, (2, 24), device="cuda")
    hidden = lambda out: out.last_hidden_state
    for name in ("Bert", "Roberta", "Electra", "MPNet", "ModernBert", "DebertaV2"):
        more = dict(max_position_embeddings=64)
        if name == "ModernBert":
            more = dict(max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
        tried(name, lambda: trained(torch, hugging(name + "Model", name + "Config", **SMALL, **more), ids, of=hidden))
    tried("T5", lambda: trained(torch, hugging("T5Model", "T5Config", vocab_size=199, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4), input_ids=ids,
                                decoder_input_ids=ids, of=hidden))
    tried("Bart", lambda: trained(torch, hugging("BartModel", "BartConfig", vocab_size=199, d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                                                 decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=64), ids, of=hidden))


def transformers_decoders():
    torch = torch_()
    ids = torch.randint(3, 199, (2, 17), device="cuda")
    gqa = dict(SMALL, num_key_value_heads=2, max_position_embeddings=128)
    for dtype in (torch.float32, torch.bfloat16):
        for name in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma2", "Phi3", "GPTNeoX", "StableLm", "Cohere", "Olmo2"):
            def one():
                more = dict(pad_token_id=0) if name == "Phi3" else dict(head_dim=16) if name in ("Gemma2", "Qwen3") else {}
                model = hugging(name + "ForCausalLM", name + "Config", **gqa, **more).to(dtype).cuda()
                model(ids, labels=ids).loss.backward()
                with torch.no_grad():
                    model.generate(ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
            tried(name, one)
        def gpt():
            model = hugging("GPT2LMHeadModel", "GPT2Config", vocab_size=199, n_embd=64, n_layer=2, n_head=4, n_positions=64).to(dtype).cuda()
            model(ids, labels=ids).loss.backward()
            model.generate(ids, max_new_tokens=4, do_sample=True, top_k=20, pad_token_id=0)
        tried("GPT2", gpt)
    torch.cuda.synchronize()


def transformers_experts():
    torch = torch_()
    ids = torch.randint(3, 199, (2, 33), device="cuda")
    gqa = dict(SMALL, num_key_value_heads=2, max_position_embeddings=128)
    for dtype in (torch.bfloat16, torch.float32):
        for name, more in (("Mixtral", dict(num_local_experts=4)), ("Qwen2Moe", dict(num_experts=4, moe_intermediate_size=64, shared_expert_intermediate_size=64)),
                           ("Qwen3Moe", dict(num_experts=8, moe_intermediate_size=64, head_dim=16)), ("Olmoe", dict(num_experts=8)), ("GraniteMoe", dict(num_local_experts=4)),
                           ("Mamba", dict(state_size=8)), ("Mamba2", dict(state_size=16, num_heads=8, head_dim=16, expand=2, n_groups=1, chunk_size=16))):
            def one():
                settings = dict(vocab_size=199, hidden_size=64, num_hidden_layers=2) if "Mamba" in name else gqa
                hugging(name + "ForCausalLM", name + "Config", **settings, **more).to(dtype).cuda()(ids, labels=ids).loss.backward()
            tried(name, one)
    torch.cuda.synchronize()


def transformers_vision():
    torch = torch_()
    image = torch.randn(2, 3, 32, 32, device="cuda")
    sized = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8)
    for name in ("ViT", "DeiT", "Dinov2", "Beit", "SiglipVision", "CLIPVision"):
        tried(name, lambda: trained(torch, hugging(name + "Model", name + "Config", **sized), image, of=lambda out: out.last_hidden_state))
    tried("Swin", lambda: trained(torch, hugging("SwinModel", "SwinConfig", image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4), image,
                                  of=lambda out: out.last_hidden_state))
    tried("ConvNext", lambda: trained(torch, hugging("ConvNextModel", "ConvNextConfig", hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1]), image, of=lambda out: out.last_hidden_state))
    tried("Segformer", lambda: trained(torch, hugging("SegformerModel", "SegformerConfig", hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 4, 4]),
                                       torch.randn(1, 3, 64, 64, device="cuda"), of=lambda out: out.last_hidden_state))
    for name, more in (("Wav2Vec2", dict(conv_dim=[32] * 3, conv_kernel=[10, 3, 3], conv_stride=[5, 2, 2], num_feat_extract_layers=3, num_conv_pos_embeddings=16,
                                         num_conv_pos_embedding_groups=4, mask_time_prob=0.0)), ):
        settings = dict(SMALL, vocab_size=32)
        tried(name, lambda: trained(torch, hugging(name + "Model", name + "Config", **settings, **more), torch.randn(1, 4000, device="cuda"), of=lambda out: out.last_hidden_state))
    tried("Whisper", lambda: trained(torch, hugging("WhisperModel", "WhisperConfig", vocab_size=199, d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                                                    decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=50, max_target_positions=40,
                                                    num_mel_bins=80, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1),
                                     torch.randn(1, 80, 100, device="cuda"), decoder_input_ids=torch.randint(3, 199, (1, 9), device="cuda"), of=lambda out: out.last_hidden_state))


def peft_training():
    torch = torch_()
    import peft
    ids = torch.randint(3, 199, (2, 17), device="cuda")
    for config in (peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"]), peft.LoraConfig(r=4, use_dora=True, target_modules=["q_proj"]),
                   peft.IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"]), peft.OFTConfig(oft_block_size=0, r=8, target_modules=["q_proj"])):
        def one():
            base = hugging("LlamaForCausalLM", "LlamaConfig", **dict(SMALL, num_key_value_heads=2, max_position_embeddings=128))
            model = peft.get_peft_model(base, config).cuda()
            optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], fused=True)
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(input_ids=ids, labels=ids).loss
            loss.backward(), optimizer.step()
        tried(type(config).__name__, one)
    torch.cuda.synchronize()


def torchvision_models():
    torch = torch_()
    import torchvision.models as m
    image = torch.randn(2, 3, 64, 64, device="cuda")
    for name in ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1", "mnasnet0_5", "efficientnet_b0", "regnet_x_400mf", "densenet121"):
        tried(name, lambda: trained(torch, getattr(m, name)(num_classes=10), image))
    half = image.half().to(memory_format=torch.channels_last)
    tried("half", lambda: m.resnet18(num_classes=10).cuda().half().to(memory_format=torch.channels_last)(half).sum().backward())
    tried("video", lambda: m.video.r3d_18(num_classes=5).cuda().eval()(torch.randn(1, 3, 4, 32, 32, device="cuda")))
    torch.cuda.synchronize()


def torchvision_ops():
    torch = torch_()
    import torchvision.ops as ops
    import torchvision.transforms.v2 as v2
    boxes = torch.rand(50, 4, device="cuda") * 20
    boxes[:, 2:] += boxes[:, :2] + 1
    x = torch.randn(1, 8, 24, 24, device="cuda", requires_grad=True)
    rois = torch.cat([torch.zeros(50, 1, device="cuda"), boxes], 1)
    for t in (torch.float32, torch.float16, torch.float64):
        y = x.to(t)
        tried(t, lambda: ops.nms(boxes.to(t), torch.rand(50, device="cuda").to(t), 0.5), lambda: ops.roi_align(y, rois.to(t), 5).sum().backward(retain_graph=True),
              lambda: ops.roi_pool(y, rois.to(t), 5).sum().backward(retain_graph=True), lambda: ops.ps_roi_align(y, rois.to(t), 2).sum().backward(retain_graph=True),
              lambda: ops.ps_roi_pool(y, rois.to(t), 2).sum().backward(retain_graph=True),
              lambda: ops.deform_conv2d(y, torch.randn(1, 18, 24, 24, device="cuda").to(t), torch.randn(4, 8, 3, 3, device="cuda").to(t), padding=1).sum().backward(retain_graph=True),
              lambda: ops.box_iou(boxes.to(t), boxes.to(t)), lambda: ops.generalized_box_iou(boxes.to(t), boxes.to(t)), lambda: ops.sigmoid_focal_loss(y, y))
    image = torch.randint(0, 256, (3, 40, 56), dtype=torch.uint8, device="cuda")
    for transform in (v2.Resize((30, 31)), v2.RandomAffine(20), v2.RandomPerspective(p=1.0), v2.ColorJitter(0.4, 0.4, 0.4, 0.2), v2.GaussianBlur(5), v2.RandomRotation(30), v2.ElasticTransform(),
                      v2.RandomSolarize(100, p=1.0), v2.RandomPosterize(3, p=1.0), v2.RandomEqualize(p=1.0), v2.RandomAutocontrast(p=1.0), v2.RandomAdjustSharpness(2, p=1.0), v2.Grayscale(),
                      v2.RandomInvert(p=1.0), v2.TrivialAugmentWide(), v2.AugMix()):
        tried(transform, lambda: transform(image), lambda: transform(image.float() / 255))
    torch.cuda.synchronize()


def timm_models():
    torch = torch_()
    import timm
    for name, size in (("vit_tiny_patch16_224", 64), ("convnext_atto", 64), ("mobilenetv4_conv_small", 64), ("efficientformer_l1", 224), ("xcit_nano_12_p16_224", 64), ("mixer_s32_224", 224),
                       ("ghostnet_050", 64), ("repvgg_a0", 64), ("mobilevit_xxs", 64), ("edgenext_xx_small", 64), ("coat_lite_tiny", 224), ("resnet10t", 64), ("tf_efficientnetv2_b0", 64),
                       ("eva02_tiny_patch14_224", 56), ("swin_tiny_patch4_window7_224", 224), ("botnet26t_256", 256)):
        def one():
            more = dict(img_size=size) if name.startswith(("vit", "eva02")) else {}
            model = timm.create_model(name, num_classes=7, **more).cuda()
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(torch.randn(1, 3, size, size, device="cuda")).square().mean()
            loss.backward()
        tried(name, one)
    torch.cuda.synchronize()


def torchaudio_transforms():
    torch = torch_()
    import torchaudio.functional as f
    import torchaudio.transforms as t
    wave = torch.randn(1, 4000, device="cuda")
    for transform in (t.Spectrogram(200), t.MelSpectrogram(16000, 256, n_mels=20), t.MFCC(16000, 13, melkwargs=dict(n_fft=256, n_mels=20)), t.AmplitudeToDB(), t.Resample(16000, 11025),
                      t.MuLawEncoding(), t.GriffinLim(200, n_iter=3), t.TimeStretch(fixed_rate=1.3, n_freq=101), t.ComputeDeltas(), t.Vol(0.5), t.SpectralCentroid(16000, 200), t.LFCC(16000, n_lfcc=12)):
        def one():
            x = wave
            if isinstance(transform, (t.GriffinLim, t.TimeStretch)):
                x = t.Spectrogram(200, power=None if isinstance(transform, t.TimeStretch) else 2.0).cuda()(wave)
            transform.cuda()(x)
        tried(transform, one)
    tried("filters", lambda: f.lfilter(wave, torch.tensor([1.0, 0.2, 0.1], device="cuda"), torch.tensor([0.3, 0.2, 0.1], device="cuda")), lambda: f.biquad(wave, 1.0, 0.2, 0.1, 1.0, 0.1, 0.1),
          lambda: f.phaser(wave, 16000), lambda: f.overdrive(wave), lambda: f.pitch_shift(wave, 16000, 3), lambda: f.detect_pitch_frequency(wave, 16000),
          lambda: f.rnnt_loss(torch.randn(1, 10, 5, 9, device="cuda"), torch.randint(1, 9, (1, 4), device="cuda").int(), torch.tensor([10], device="cuda").int(), torch.tensor([4], device="cuda").int()),
          lambda: f.forced_align(torch.randn(1, 20, 9, device="cuda").log_softmax(2), torch.randint(1, 9, (1, 4), device="cuda").int()))
    torch.cuda.synchronize()


def geometric_convolutions():
    torch = torch_()
    import torch_geometric.nn as g
    x, edges = torch.randn(40, 16, device="cuda"), torch.randint(0, 40, (2, 160), device="cuda")
    weights, features = torch.rand(160, device="cuda"), torch.randn(160, 4, device="cuda")
    for layer in (g.GCNConv(16, 8), g.GATConv(16, 8, heads=2), g.GATv2Conv(16, 8, heads=2), g.SAGEConv(16, 8), g.SAGEConv(16, 8, aggr="max"), g.GINConv(torch.nn.Linear(16, 8)), g.TransformerConv(16, 8, heads=2),
                  g.ChebConv(16, 8, K=3), g.TAGConv(16, 8), g.ARMAConv(16, 8), g.SGConv(16, 8, K=2), g.APPNP(3, 0.1), g.GraphConv(16, 8), g.GatedGraphConv(16, 2), g.ResGatedGraphConv(16, 8),
                  g.ClusterGCNConv(16, 8), g.GENConv(16, 8), g.PNAConv(16, 8, ["mean", "max", "std"], ["identity", "amplification"], torch.ones(9, dtype=torch.long)), g.LEConv(16, 8), g.FeaStConv(16, 8),
                  g.EdgeConv(torch.nn.Linear(32, 8)), g.FiLMConv(16, 8), g.SuperGATConv(16, 8), g.EGConv(16, 8, num_heads=2), g.GeneralConv(16, 8), g.HypergraphConv(16, 8), g.MFConv(16, 8)):
        def one():
            out = layer.cuda()(x.requires_grad_(), edges)
            out.square().mean().backward()
        tried(layer, one)
    tried("weighted", lambda: g.GCNConv(16, 8).cuda()(x, edges, weights), lambda: g.GATConv(16, 8, edge_dim=4).cuda()(x, edges, features), lambda: g.NNConv(16, 8, torch.nn.Linear(4, 128)).cuda()(x, edges, features),
          lambda: g.GINEConv(torch.nn.Linear(16, 8), edge_dim=4).cuda()(x, edges, features), lambda: g.RGCNConv(16, 8, 3).cuda()(x, edges, torch.randint(0, 3, (160,), device="cuda")))
    torch.cuda.synchronize()


def geometric_pooling():
    torch = torch_()
    import torch_geometric.nn as g
    import torch_geometric.utils as u
    x, edges, batch = torch.randn(40, 16, device="cuda", requires_grad=True), torch.randint(0, 40, (2, 160), device="cuda"), torch.arange(40, device="cuda") // 14
    for pool in (g.global_add_pool, g.global_mean_pool, g.global_max_pool):
        tried(pool, lambda: pool(x, batch).sum().backward())
    for layer in (g.TopKPooling(16), g.SAGPooling(16), g.ASAPooling(16), g.EdgePooling(16)):
        tried(layer, lambda: layer.cuda()(x, edges, batch=batch)[0].sum().backward())
    for aggregation in (g.SoftmaxAggregation(), g.PowerMeanAggregation(), g.MedianAggregation(), g.VarAggregation(), g.StdAggregation(), g.LSTMAggregation(16, 8), g.SortAggregation(3), g.Set2Set(16, 2),
                        g.AttentionalAggregation(torch.nn.Linear(16, 1)), g.QuantileAggregation(0.3), g.MulAggregation()):
        tried(aggregation, lambda: aggregation.cuda()(x, batch).sum().backward())
    for norm in (g.BatchNorm(16), g.LayerNorm(16), g.InstanceNorm(16), g.GraphNorm(16), g.PairNorm(), g.GraphSizeNorm(), g.DiffGroupNorm(16, 4), g.MessageNorm()):
        tried(norm, lambda: norm.cuda()(x, batch).sum().backward())
    dense = torch.rand(2, 10, 10, device="cuda").round()
    tried("dense", lambda: g.dense_diff_pool(torch.randn(2, 10, 16, device="cuda"), dense, torch.randn(2, 10, 4, device="cuda")), lambda: g.dense_mincut_pool(torch.randn(2, 10, 16, device="cuda"), dense, torch.randn(2, 10, 4, device="cuda")),
          lambda: u.to_dense_batch(x, batch), lambda: u.to_dense_adj(edges, batch), lambda: u.softmax(x, batch), lambda: u.coalesce(edges), lambda: u.to_undirected(edges), lambda: u.degree(edges[0]),
          lambda: u.get_laplacian(edges, normalization="sym"), lambda: u.k_hop_subgraph(3, 2, edges), lambda: u.remove_self_loops(edges))
    torch.cuda.synchronize()


def e3nn_products():
    torch = torch_()
    from e3nn import nn, o3
    x, y = o3.Irreps("4x0e+3x1o+2x2e"), o3.Irreps("2x0e+2x1o")
    for product in (o3.FullyConnectedTensorProduct(x, y, "4x0e+2x1o"), o3.FullTensorProduct(x, y), o3.ElementwiseTensorProduct("4x0e+3x1o", "4x0e+3x1o"), o3.TensorSquare(x)):
        def one():
            of = [product.irreps_in1, product.irreps_in2] if hasattr(product, "irreps_in2") and not isinstance(product, o3.TensorSquare) else [x]
            product.cuda()(*(i.randn(5, -1).cuda().requires_grad_() for i in of)).sum().backward()
        tried(product, one)
    points = torch.randn(30, 3, device="cuda")
    for degree in range(5):
        tried(degree, lambda: o3.spherical_harmonics(list(range(degree + 1)), points.requires_grad_(), True).sum().backward())
    tried("layers", lambda: o3.Linear(x, y).cuda()(x.randn(5, -1).cuda()), lambda: nn.BatchNorm(x).cuda()(x.randn(5, -1).cuda()), lambda: nn.Gate("4x0e", [torch.tanh], "3x0e", [torch.sigmoid], "3x1o").cuda()(o3.Irreps("4x0e+3x0e+3x1o").randn(5, -1).cuda()),
          lambda: o3.wigner_D(2, *(torch.rand(4, device="cuda") for _ in range(3))), lambda: nn.NormActivation(x, torch.sigmoid).cuda()(x.randn(5, -1).cuda()))
    torch.cuda.synchronize()


def gpytorch_regression():
    torch = torch_()
    import gpytorch
    k = gpytorch.kernels
    for kernel in (k.RBFKernel(), k.MaternKernel(1.5), k.MaternKernel(0.5), k.PeriodicKernel(), k.RQKernel(), k.LinearKernel(), k.PolynomialKernel(2), k.CosineKernel(), k.ScaleKernel(k.RBFKernel(ard_num_dims=2)),
                   k.SpectralMixtureKernel(num_mixtures=2, ard_num_dims=2)):
        def one():
            class Model(gpytorch.models.ExactGP):
                def __init__(self, x, y, likelihood):
                    super().__init__(x, y, likelihood)
                    self.mean, self.kernel = gpytorch.means.ConstantMean(), kernel

                def forward(self, x):
                    return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))
            x = torch.rand(24, 2, device="cuda")
            y, likelihood = x.sum(1).sin(), gpytorch.likelihoods.GaussianLikelihood().cuda()
            model = Model(x, y, likelihood).cuda()
            loss = -gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), y)
            loss.backward()
            model.eval(), likelihood.eval()
            with torch.no_grad():
                likelihood(model(torch.rand(9, 2, device="cuda"))).variance
        tried(kernel, one)
    torch.cuda.synchronize()


def torchdiffeq_methods():
    torch = torch_()
    import torchdiffeq
    f = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).cuda()
    for method in ("dopri5", "dopri8", "bosh3", "adaptive_heun", "euler", "midpoint", "rk4", "explicit_adams", "implicit_adams", "heun3"):
        tried(method, lambda: torchdiffeq.odeint_adjoint(lambda t, y: f(y), torch.randn(3, 4, device="cuda"), torch.linspace(0, 1, 4, device="cuda"), method=method, adjoint_params=tuple(f.parameters())).sum().backward())
    torch.cuda.synchronize()


def torchmetrics_all():
    torch = torch_()
    import torchmetrics.functional as f
    p, t = torch.rand(60, 5, device="cuda").softmax(1), torch.randint(0, 5, (60,), device="cuda")
    for name in ("accuracy", "precision", "recall", "f1_score", "confusion_matrix", "cohen_kappa", "matthews_corrcoef", "auroc", "average_precision", "calibration_error", "hinge_loss", "jaccard_index", "specificity",
                 "stat_scores", "roc", "precision_recall_curve", "exact_match", "hamming_distance"):
        tried(name, lambda: getattr(f, name)(p, t, task="multiclass", num_classes=5))
    a, b = torch.rand(60, device="cuda"), torch.rand(60, device="cuda")
    for name in ("mean_squared_error", "pearson_corrcoef", "spearman_corrcoef", "kendall_rank_corrcoef", "r2_score", "concordance_corrcoef", "explained_variance", "mean_absolute_percentage_error", "tweedie_deviance_score",
                 "cosine_similarity", "kl_divergence", "log_cosh_error", "mean_squared_log_error", "minkowski_distance", "relative_squared_error"):
        tried(name, lambda: getattr(f, name)(a, b), lambda: getattr(f, name)(a[None], b[None]), lambda: getattr(f, name)(a, b, 3))
    x, y = torch.rand(1, 3, 48, 48, device="cuda"), torch.rand(1, 3, 48, 48, device="cuda")
    for name in ("structural_similarity_index_measure", "peak_signal_noise_ratio", "universal_image_quality_index", "spectral_angle_mapper", "error_relative_global_dimensionless_synthesis", "total_variation", "relative_average_spectral_error",
                 "image_gradients", "visual_information_fidelity"):
        tried(name, lambda: getattr(f, name)(x, y), lambda: getattr(f.image, name)(x, y), lambda: getattr(f, name)(x))
    for name in ("signal_noise_ratio", "scale_invariant_signal_distortion_ratio", "scale_invariant_signal_noise_ratio", "signal_distortion_ratio"):
        tried(name, lambda: getattr(f.audio, name)(torch.randn(1, 900, device="cuda"), torch.randn(1, 900, device="cuda")))
    for name in ("pairwise_cosine_similarity", "pairwise_euclidean_distance", "pairwise_linear_similarity", "pairwise_manhattan_distance", "pairwise_minkowski_distance"):
        tried(name, lambda: getattr(f, name)(torch.randn(20, 7, device="cuda"), torch.randn(9, 7, device="cuda")))
    torch.cuda.synchronize()


def lightning_training():
    torch = torch_()
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Conv1d(3, 8, 5), torch.nn.BatchNorm1d(8), torch.nn.SiLU(), torch.nn.AdaptiveAvgPool1d(4), torch.nn.Flatten(), torch.nn.Linear(32, 5))

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1], label_smoothing=0.1)

        def configure_optimizers(self):
            return torch.optim.NAdam(self.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(32, 3, 40), torch.randint(0, 5, (32,)))
    for precision in ("32", "16-mixed", "bf16-mixed"):
        tried(precision, lambda: lightning.Trainer(max_epochs=1, precision=precision, logger=False, enable_checkpointing=False, enable_progress_bar=False, gradient_clip_val=0.5, accumulate_grad_batches=2, accelerator="gpu",
                                                   devices=1).fit(Module(), torch.utils.data.DataLoader(data, 8)))


PROGRAMS = [transformers_encoders, transformers_decoders, transformers_experts, transformers_vision, peft_training, torchvision_models, torchvision_ops, timm_models, torchaudio_transforms, geometric_convolutions,
            geometric_pooling, e3nn_products, gpytorch_regression, torchdiffeq_methods, torchmetrics_all, lightning_training]
