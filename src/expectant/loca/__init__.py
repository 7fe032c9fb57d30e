"""The local-change adaptation test: does news from one corner reach the values everywhere?"""
